// The report about ended conversations: a table with a bar for each row, and CSV.
import { saveAs } from "./bubbles.js";
import { actions, done, sheet } from "./dialogs.js";
import { button, element, fill } from "./dom.js";
import { visible } from "./text.js";

const day = 86_400_000;
const periods = { 7: "7 days", 30: "30 days", 365: "A year" };
const groups = { queue: "Queue", person: "Person", hour: "Hour" };

/// Seconds as a short text.
function duration(seconds) {
  if (seconds === undefined) return "–";
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/// The mean score of the survey, and how many customers answered it.
function score({ scores }) {
  const count = scores.reduce((sum, number) => sum + number, 0);
  return count ? `${(scores.reduce((sum, number, index) => sum + number * (index + 1), 0) / count).toFixed(1)} (${count})` : "–";
}

const columns = [
  ["Conversations", (row) => row.conversations], ["By the bot", (row) => row.byBot], ["By people", (row) => row.byPeople], ["Unanswered", (row) => row.unanswered],
  ["Asked for a person", (row) => row.askedFor], ["Handed off", (row) => row.handedOff], ["First answer (half, nine of ten)", (row) => `${duration(row.firstP50)}, ${duration(row.firstP90)}`],
  ["First answer in opening hours", (row) => `${duration(row.firstOpenP50)}, ${duration(row.firstOpenP90)}`], ["Later answers", (row) => `${duration(row.laterP50)}, ${duration(row.laterP90)}`], ["Consents", (row) => row.consents], ["Withdrawals", (row) => row.withdrawals], ["Survey (answers)", score],
];

function table(rows, by) {
  const most = Math.max(1, ...rows.slice(1).map((row) => row.conversations));
  return element("table", { class: "report" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, groups[by]), columns.map(([name]) => element("th", { scope: "col" }, name)), element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, "Part")))),
    element("tbody", {}, rows.map((row, index) => element("tr", {}, element("th", { scope: "row", dir: "auto" }, index === 0 ? "All" : visible(row.group === "-" ? "None" : row.group)),
      columns.map(([, value]) => element("td", {}, String(value(row)))),
      element("td", {}, index > 0 && element("meter", { min: 0, max: most, value: row.conversations, "aria-label": `${row.conversations} conversations` }))))));
}

/// Shows the report of the business.
export function showReport(desk) {
  return sheet("Report", (finish) => {
    const choice = (id, label, values) => element("select", { id, "aria-label": label }, Object.entries(values).map(([value, name]) => element("option", { value }, name)));
    const period = choice("report-period", "Period", periods);
    const by = choice("report-by", "Rows", groups);
    const place = element("div", { class: "report-place", tabindex: 0, role: "region", "aria-label": "Report" });
    const query = () => new URLSearchParams({ by: by.value, from: new Date(Date.now() - Number(period.value) * day).toISOString() });
    by.value = "queue";
    const draw = async () => {
      const asked = query();
      try {
        const { rows } = await desk.api.read(`${desk.path}/report?${asked}`);
        fill(place, table(rows, asked.get("by")), element("p", { class: "hint" }, "A conversation counts after a day of silence (newAfterHours)."));
      } catch (error) { desk.fail(error); }
    };
    const save = async () => {
      try {
        saveAs(await (await desk.api.send("GET", `${desk.path}/report.csv?${query()}`)).blob(), "report.csv");
      } catch (error) { desk.fail(error); }
    };
    for (const field of [period, by]) field.addEventListener("change", () => void draw());
    void draw();
    return element("div", { class: "sheet-body wide-sheet" }, element("div", { class: "work" }, period, by), place,
      actions(button("Save as CSV", { class: "secondary" }, () => void save()), done(finish)));
  });
}
