// The choices of an interactive message as a device offers them, without any element: sections, times, pages and rules.
import { inOrder, interaction, list, object, text } from "./bubbles.js";
import { formatter, timeOf, zoneOf } from "./text.js";

/// The sections of a list picker with `{title, isMultiple, items: [{position, title, subtitle, image}]}`.
export function sectionsOf(message) {
  const { data, picture } = interaction(message);
  const picker = object(data.listPicker);
  let position = -1;
  return inOrder(picker.sections).map((section) => ({
    title: text(section.title), isMultiple: (section.multipleSelection ?? picker.multipleSelection) === true,
    items: inOrder(section.items).map((item) => {
      position += 1;
      return {
        position, title: text(item.title) || text(item.identifier), subtitle: text(item.subtitle),
        image: picture(item.imageIdentifier), missing: item.imageIdentifier !== undefined && !picture(item.imageIdentifier) ? text(item.imageIdentifier) : "",
      };
    }),
  }));
}

/// The times of a time picker in the event's zone, or in the customer's when the event has none:
/// `{zone, days: [{day, slots: [{position, clock, minutes, clash}]}], unreadable: [position]}`.
export function timesOf(message, customer) {
  const event = object(interaction(message).data.event);
  const { timeZone: zone, shift, offset } = zoneOf(event, text(customer?.zone));
  const isOwn = offset === undefined;
  const day = formatter(text(customer?.locale), { weekday: "long", day: "numeric", month: "long", timeZone: zone });
  const clock = formatter(text(customer?.locale), { hour: "2-digit", minute: "2-digit", timeZone: zone });
  const hours = formatter("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: text(customer?.zone) || undefined });
  const days = [];
  const unreadable = [];
  const slots = list(event.timeslots).map((one, position) => ({ position, time: timeOf(text(one.startTime)), minutes: Math.round(Number(one.duration) / 60) || 0 }));
  for (const one of slots.filter((slot) => slot.time === undefined)) unreadable.push(one.position);
  for (const one of slots.filter((slot) => slot.time !== undefined).sort((a, b) => a.time - b.time)) {
    const name = day.format(one.time + shift);
    if (days.at(-1)?.day !== name) days.push({ day: name, slots: [] });
    // The simulated customer has lunch from 12:00 to 13:00 of their own time.
    const [hour, minute] = hours.format(one.time).split(":").map(Number);
    const start = hour * 60 + minute;
    days.at(-1).slots.push({ ...one, clock: clock.format(one.time + shift), clash: start < 13 * 60 && start + Math.max(one.minutes, 1) > 12 * 60 });
  }
  const sign = offset < 0 ? "−" : "+";
  const minutes = Math.abs(offset ?? 0);
  const gmt = `GMT${sign}${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  return { zone: isOwn ? `Your time zone${zone ? `, ${zone}` : ""}` : `Time zone of the event, ${gmt}`, days, unreadable };
}

// Forms

/// The form of a message: pages by identifier, start, splash, and the rules that it breaks.
export function formOf(message) {
  const dynamic = object(interaction(message).data.dynamic);
  const data = object(dynamic.data);
  const pages = list(data.pages);
  const byIdentifier = new Map(pages.map((page) => [text(page.pageIdentifier), page]).reverse());
  return {
    pages, byIdentifier, splash: object(data.splash), start: text(data.startPageIdentifier) || text(pages[0]?.pageIdentifier),
    isPrivate: data.private === true || data.private === "true", hasSummary: data.showSummary === true || data.showSummary === "true",
  };
}

/// The page after `page`, by the chosen position of a single selection; empty at the end.
export function nextPage(page, position) {
  if (page.submitForm === true) return "";
  const branch = text(page.type) === "datePicker" || text(page.type) === "input" || page.multipleSelection === true ? "" : text(list(page.items)[position]?.nextPageIdentifier);
  return branch || text(page.nextPageIdentifier);
}

const parts = /yyyy|yy|MM|M|dd|d|[^a-zA-Z]|[a-zA-Z]+/gu;

const longestFormat = 256;

/// The date of a text in a format such as `MM/dd/yyyy`, as `yyyy-MM-dd`; empty when it is no date.
///
/// The format comes from outside, so it makes no regular expression: one pass reads the parts of the text.
export function dateOf(value, format = "MM/dd/yyyy") {
  const given = text(value).trim();
  if (/^\d{4}-\d\d-\d\d/u.test(given)) return given.slice(0, 10);
  const pattern = text(format);
  if (pattern.length > longestFormat) return "";
  const found = {};
  let at = 0;
  for (const part of pattern.match(parts) ?? []) {
    if (/^[yMd]/u.test(part)) {
      const digits = /^\d*/u.exec(given.slice(at, at + (part === "yyyy" ? 4 : 2)))[0];
      if (digits.length < (part === "yyyy" ? 4 : 1)) return "";
      found[part[0]] = digits;
      at += digits.length;
    } else {
      if (!given.startsWith(part, at)) return "";
      at += part.length;
    }
  }
  if (at < given.length || !found.y || !found.M || !found.d) return "";
  return `${found.y.length === 2 ? `20${found.y}` : found.y}-${found.M.padStart(2, "0")}-${found.d.padStart(2, "0")}`;
}

/// A date `yyyy-MM-dd` in a page's format.
export function dateText(iso, format = "MM/dd/yyyy") {
  const [year, month, day] = iso.split("-");
  return (text(format) || "MM/dd/yyyy").replace(/yyyy|yy|MM|M|dd|d/gu, (part) => ({
    yyyy: year, yy: year.slice(2), MM: month, M: String(Number(month)), dd: day, d: String(Number(day)),
  })[part]);
}

/// Today as `yyyy-MM-dd`.
export function today() { return new Date().toISOString().slice(0, 10); }
