// Texts for people: times, ages, sizes, links, and characters that could deceive.
import { element } from "./dom.js";

const minute = 60_000;
const day = 24 * 60 * minute;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const dateOnly = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const dateAndClockParts = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const dateAndClock = new Intl.DateTimeFormat(undefined, dateAndClockParts);

/// The time of day, with the date when it was not today.
export function when(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : dateAndClock.format(date);
}

/// The day of a message, as a heading above the day's first message.
export function dayOf(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / day);
  return days === 0 ? "Today" : days === 1 ? "Yesterday" : dateOnly.format(date);
}

/// A time as Apple writes it, with or without seconds and with any zone; undefined when it cannot be read.
export function timeOf(startTime) {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/iu.exec(startTime ?? "");
  if (!match) return undefined;
  const zone = match[3].toUpperCase() === "Z" ? "Z" : `${match[3].slice(0, 3)}:${match[3].slice(-2)}`;
  const time = Date.parse(`${match[1]}${match[2] ?? ":00"}${zone}`);
  return Number.isNaN(time) ? undefined : time;
}

/// Apple MSP API, "Time Picker": the times are shown in the event's zone, wherever the customer is; without `timezoneOffset` in that of
/// the device. Returns the zone and the shift of a formatter; `offset`, in minutes, is undefined for the device's zone.
export function zoneOf(event, device) {
  const offset = event?.timezoneOffset === undefined || event?.timezoneOffset === null ? NaN : Number(event.timezoneOffset);
  if (!Number.isFinite(offset) || Math.abs(offset) > 24 * 60) return { timeZone: device || undefined, shift: 0 };
  return { timeZone: "UTC", shift: offset * minute, offset };
}

/// A formatter in a locale and a zone; one that the browser does not know is left out.
export function formatter(locale, options) {
  for (const name of [locale?.replaceAll("_", "-"), undefined]) {
    try { return new Intl.DateTimeFormat(name || undefined, options); } catch { /* an unknown locale or zone: the next one */ }
  }
  return new Intl.DateTimeFormat(undefined, { ...options, timeZone: "UTC" });
}

/// The text of a time picker's slot in a zone of `zoneOf`.
export function slot(startTime, durationSeconds, { timeZone, shift } = zoneOf()) {
  const time = timeOf(startTime);
  if (time === undefined) return visible(String(startTime ?? "no time"));
  const minutes = Math.round(Number(durationSeconds) / 60);
  return formatter(undefined, { ...dateAndClockParts, timeZone }).format(time + shift) + (minutes > 0 ? `, ${minutes} min` : "");
}

/// A number of bytes as text, such as `149 kB`.
export function size(bytes) {
  const count = Number(bytes);
  if (!Number.isFinite(count) || count < 0) return "";
  if (count < 1000) return `${count} bytes`;
  return count < 1e6 ? `${Math.round(count / 1000)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu;
const overrides = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202d\u202e]/gu;
const named = (character) => `[U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;

/// A name with its invisible and direction-changing characters shown, so that `exe.jpg` cannot be a reversed `gpj.exe`. Tabs and
/// the ends of lines stay.
export function visible(name) {
  return String(name).replace(controls, named);
}

/// A message in which characters that reverse text are made visible; those that Arabic and Hebrew need stay as they
/// are.
export function safe(text) {
  return String(text).replace(overrides, named);
}

const address = /https?:\/\/[^\s<>"'\u200b-\u200f\u202a-\u202e\u2066-\u2069]+/giu;

/// The nodes of a text: links for `http` and `https` addresses, text for everything else.
export function linked(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(address)) {
    const found = match[0].replace(/[.,;:!?)\]}]+$/u, "");
    const target = webAddress(found);
    if (!target) continue;
    nodes.push(text.slice(end, match.index), link(target, found));
    end = match.index + found.length;
  }
  nodes.push(text.slice(end));
  return nodes.filter((node) => node !== "");
}

/// The URL when its scheme is `http` or `https`; undefined for `javascript:` and all others.
export function webAddress(text) {
  try {
    const parsed = new URL(String(text));
    return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.href : undefined;
  } catch {
    return undefined;
  }
}

/// A link that opens in a tab of its own, which learns nothing about this page.
export function link(target, label) {
  return element("a", { href: target, target: "_blank", rel: "noopener noreferrer" }, label);
}

/// Whether a text is one to three emoji.
export function isEmoji(text) {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > 40 || !/^[\p{Emoji}\p{Emoji_Component}\s]+$/u.test(trimmed)) return false;
  const parts = [...new Intl.Segmenter().segment(trimmed)].filter((part) => part.segment.trim() !== "");
  return parts.length <= 3 && parts.every((part) => /\p{Extended_Pictographic}|\p{Regional_Indicator}/u.test(part.segment));
}

/// A customer's name for people: the `name` that they gave, or the end of Apple's opaque identifier.
export function customerName(customer, name) {
  if (name) return visible(name);
  const text = visible(customer ?? "");
  if (text.startsWith("tel:")) return text.slice(4);
  const end = text.replace(/=+$/u, "").slice(-6);
  return end ? `Customer ${end}` : "Customer";
}

/// A person's name for people; `otherwise` when the person has neither a name nor an identifier.
export function personName(person, otherwise = "A colleague") { return visible(person?.name ?? person?.id ?? otherwise); }
