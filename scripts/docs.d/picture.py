"""Draws boxes and arrows as SVG on standard output; the argument is the text file that describes them."""
import html
import pathlib
import sys

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 176, 56, 64, 40, 12
boxes, arrows = {}, []
for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    word, _, rest = line.partition(" ")
    if word == "box":
        name, column, row, text = rest.split(maxsplit=3)
        title, subtitle = (part.strip() for part in text.split("|"))
        boxes[name] = (MARGIN + int(column) * (WIDTH + GAP_X), MARGIN + int(row) * (HEIGHT + GAP_Y), title, subtitle)
    elif word == "arrow":
        start, end, *label = rest.split(maxsplit=2)
        arrows.append((start, end, label[0].strip() if label else ""))

width = max(x for x, _, _, _ in boxes.values()) + WIDTH + MARGIN
height = max(y for _, y, _, _ in boxes.values()) + HEIGHT + MARGIN
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
      'font-family="Helvetica, Arial, sans-serif" font-size="13" text-anchor="middle">')
print('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
      '<path d="M0 0L8 4L0 8z" fill="#556"/></marker></defs>')
print(f'<rect width="{width}" height="{height}" fill="#fff"/>')
pairs = {(start, end) for start, end, _ in arrows}
for start, end, label in arrows:
    (x1, y1, _, _), (x2, y2, _, _) = boxes[start], boxes[end]
    # Two arrows between the same boxes run beside each other.
    shift = 9 if (end, start) in pairs else 0
    if y1 == y2:
        y = y1 + HEIGHT / 2 + (shift if x2 < x1 else -shift)
        from_x, to_x = (x1 + WIDTH, x2) if x2 > x1 else (x1, x2 + WIDTH)
        path, at = f"M{from_x} {y:g}H{to_x}", ((from_x + to_x) / 2, y + 14 if shift and x2 < x1 else y - 5)
    else:
        x = x1 + WIDTH / 2
        from_y, to_y = (y1 + HEIGHT, y2) if y2 > y1 else (y1, y2 + HEIGHT)
        path, at = f"M{x:g} {from_y}V{to_y}", (x + 26, (from_y + to_y) / 2 + 4)
    print(f'<path d="{path}" fill="none" stroke="#556" stroke-width="1.5" marker-end="url(#tip)"/>')
    if label:
        print(f'<text x="{at[0]:g}" y="{at[1]:g}" font-size="11" fill="#556">{html.escape(label)}</text>')
for x, y, title, subtitle in boxes.values():
    print(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#eef3fb" stroke="#4a6fa5"/>')
    print(f'<text x="{x + WIDTH / 2:g}" y="{y + 24}" font-weight="bold" fill="#123">{html.escape(title)}</text>')
    print(f'<text x="{x + WIDTH / 2:g}" y="{y + 43}" font-size="12" fill="#456">{html.escape(subtitle)}</text>')
print("</svg>")
