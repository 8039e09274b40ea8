// A conversation's line as a customer's device shows it: chips to tap, and bubbles that open sheets.
import { bubble, chosenChip, interaction, list, object, pictureOf, plainContent, text } from "./bubbles.js";
import { button, element, icon } from "./dom.js";
import { safe, slot, visible, zoneOf } from "./text.js";

const mostChips = 5;

/// A sentence about a rule that the message breaks; a device says nothing, so it is beside the content.
export function rule(sentence) { return element("p", { class: "rule" }, sentence); }

/// The reason why a device does not show a message; undefined when it does.
function notShown(line, customer) {
  if (line.direction === "inbound" || !customer) return undefined;
  if (["form", "app"].includes(line.kind) && !["iphone", "ipad"].includes(customer.device)) {
    return `${line.kind === "form" ? "A form is" : "An app is"} shown on an iPhone and an iPad only.`;
  }
  const version2 = text(interaction(object(line.message)).data.version) === "2.0";
  const needed = { quickReply: "QUICK", listPicker: "LIST", timePicker: "TIME", form: "FORM", authentication: version2 ? "AUTH2" : "AUTH" }[line.kind];
  const has = Array.isArray(customer.capabilities) ? customer.capabilities.map((one) => String(one).toUpperCase()) : undefined;
  if (needed && has && !has.includes(needed)) return `This device does not announce ${needed}, so it cannot show this message.`;
  return undefined;
}

/// The name by which the server finds the item at `position`: its title, or its number when another item has that title.
export function nameOf(position, titles) {
  const same = (a, b) => text(a).trim().toLowerCase() === text(b).trim().toLowerCase();
  const title = text(titles[position]);
  if (title.trim() && titles.filter((one) => same(one, title)).length === 1) return title;
  return String(position + 1);
}

/// Whether a tap on the message opens a sheet.
export function opensSheet(line) {
  return line.direction === "outbound" && Object.hasOwn(looks, line.kind) && !line.message?.interactiveDataRef;
}

/// An amount of money in the customer's way of writing; text that is no number stays as it is.
export function money(value, currency) {
  const number = Number(value);
  if (text(value).trim() === "" || !Number.isFinite(number)) return `${visible(text(value)) || "no amount"} ${visible(currency)}`.trim();
  try { return new Intl.NumberFormat(undefined, { style: "currency", currency }).format(number); } catch { return `${text(value)} ${visible(currency)}`.trim(); }
}

/// The nodes of an entry. `actions` has `open()` for a sheet, `choose(position)` for a chip, and `download(index)`; `hasQuestion`
/// says that a text of the business stands above, and `isAgain` that an answered question can be answered once more.
export function deviceContent(entry, customer, actions, { hasQuestion = true, isAgain = false } = {}) {
  const line = { ...entry.line, direction: entry.direction, kind: entry.kind };
  const message = object(line.message);
  const refusal = notShown(line, customer);
  if (refusal) return [bubble([element("strong", {}, "Not shown on this device"), element("br"), refusal], "faint hidden-kind")];
  try {
    if (line.direction === "inbound") return reply(line, message, customer, actions);
    const isAnswered = entry.answered && !isAgain;
    if (line.kind === "quickReply") return isAnswered ? [bubble(safe(text(object(interaction(message).data["quick-reply"]).summaryText) || "Answered"))] : chips(message, hasQuestion, actions);
    if (isAnswered && opensSheet(line) && line.kind !== "app") return [folded(line, message, entry.answer, customer)];
    if (opensSheet(line)) return [interactive(line, message, actions)];
  } catch {
    // A part of the message has an unexpected type: the message is shown as JSON.
    return plainContent({ ...line, kind: "unrecognized" });
  }
  return plainContent(line, { download: actions.download });
}

/// Apple MSP API, "Quick Reply Message": the question is a text above the choices; a device shows `summaryText` in its place after one tap.
function chips(message, hasQuestion, actions) {
  const reply = object(interaction(message).data["quick-reply"]);
  const items = list(reply.items);
  return [
    !hasQuestion && rule("No question stands above these choices: send it as a text first."),
    element("ul", { class: "chips", "aria-label": text(reply.summaryText) || "Choices" }, items.slice(0, mostChips).map((item, position) => element("li", {},
      button(safe(text(item.title) || "(no title)"), { class: "chip tap", dir: "auto" }, () => actions.choose(position))))),
    items.length > mostChips && rule(`A device shows ${mostChips} of these ${items.length} items.`),
    items.length < 2 && rule("A quick reply has 2 to 5 items."),
  ];
}

/// An answered question: one line with its answer, which opens nothing.
function folded(line, message, answer, customer) {
  const { data, received } = interaction(message);
  const title = text(received.title) || text(object(data.event).title) || looks[line.kind][0];
  const words = answer ? answerWords(line.kind, object(answer.line?.message), customer) : "";
  return element("div", { class: "bubble folded" }, icon("check"), element("span", {},
    element("span", { class: "visually-hidden" }, "Answered: "), element("span", { class: "card-title", dir: "auto" }, safe(title)),
    words && element("span", { class: "card-subtitle", dir: "auto" }, safe(words))));
}

/// The time that a customer chose, in the event's zone or the customer's; empty when the answer has none.
function chosenTime(data, customer) {
  const event = object(data.event);
  const time = list(event.timeslots)[0];
  return time ? slot(text(time.startTime), time.duration, zoneOf(event, text(customer?.zone))) : "";
}

/// The words of a customer's answer.
function answerWords(kind, message, customer) {
  const { data, reply } = interaction(message);
  switch (kind) {
    case "listPicker": return list(object(data.listPicker).sections).flatMap((section) => list(section.items)).map((item) => text(item.title)).join(", ");
    case "timePicker": return chosenTime(data, customer);
    case "form": {
      // The titles of a private form are not kept.
      const titles = list(object(data.dynamic).selections).flatMap((page) => list(page.items)).map((item) => text(item.title));
      return titles.includes("[not kept]") ? "Private answers" : titles.join(", ");
    }
    case "authentication": return text(object(data.authenticate).status) === "success" ? "Signed in" : text(object(data.authenticate).status) || "Not signed in";
    case "applePay": return text(object(data.payment).state) === "paid" ? "Paid" : "Not paid";
    case "invitation": return "Accepted";
    default: return text(reply.title);
  }
}

/// How a bubble of a kind looks: its words when the business gave it none, its drawing without a picture, and what a tap does.
const looks = {
  listPicker: ["Choose an item", "list", "Tap to choose"], timePicker: ["Choose a time", "clock", "Tap to choose a time"], form: ["Fill in a form", "file", "Tap to fill in"],
  authentication: ["Sign in", "person", "Tap to sign in"], applePay: ["Pay with Apple Pay", "card", "Tap to pay"], app: ["App", "app", "Tap to open"], invitation: ["Invitation", "smile", "Tap to answer"],
};

/// The style of a bubble: `icon`, `small` or `large`; Apple Pay is always large, and an app has its own layout.
function styleOf(kind, given) {
  if (kind === "applePay") return "large";
  return ["icon", "small", "large"].includes(given) ? given : "icon";
}

function interactive(line, message, actions) {
  const { outer, data, received, picture } = interaction(message);
  const notification = object(data.notification);
  const parameters = object(notification.parameters);
  let { title, subtitle } = { title: text(received.title), subtitle: text(received.subtitle) };
  let image = picture(received.imageIdentifier);
  let extra = [];
  if (line.kind === "app") {
    image = text(outer.appIcon) ? { data: outer.appIcon } : undefined;
    title ||= text(outer.appName);
    extra = ["imageTitle", "imageSubtitle", "secondarySubtitle", "tertiarySubtitle"].map((name) => text(received[name])).filter(Boolean);
  }
  if (line.kind === "invitation") {
    title ||= text(parameters.brandName) || text(notification.templateId);
    subtitle ||= "would like to send you messages here.";
    image = text(parameters.brandLogo) ? { data: parameters.brandLogo } : undefined;
  }
  if (line.kind === "timePicker") title ||= text(object(data.event).title);
  if (line.kind === "form") title ||= text(object(object(object(data.dynamic).data).splash).header);
  const style = styleOf(line.kind, text(received.style));
  const wanted = received.imageIdentifier;
  const request = object(object(data.payment).paymentRequest);
  const isPay = line.kind === "applePay";
  return element("div", { class: "offer" },
    button([
      image ? pictureOf(image) : !isPay && element("span", { class: "sign" }, icon(looks[line.kind][1])),
      element("span", { class: "device-words" },
        isPay && element("span", { class: "pay-line" }, element("span", { class: "pay-mark" }, "Apple Pay"), element("span", { class: "amount" }, money(object(request.total).amount, text(request.currencyCode)))),
        element("span", { class: "card-title", dir: "auto" }, safe(title || looks[line.kind][0])),
        subtitle && element("span", { class: "card-subtitle", dir: "auto" }, safe(subtitle)),
        extra.map((part) => element("span", { class: "card-subtitle", dir: "auto" }, safe(part))),
        line.kind === "app" && text(outer.appName) && element("span", { class: "card-subtitle" }, visible(text(outer.appName))),
        element("span", { class: "card-action" }, looks[line.kind][2])),
    ], { class: `bubble device-card ${style}` }, actions.open),
    wanted !== undefined && !image && line.kind !== "app" && rule(`The message has no image “${visible(text(wanted))}”.`));
}

/// The nodes of a customer's message: a reply bubble for an answer, the content for everything else.
function reply(line, message, customer, actions) {
  if (line.kind === "quickReply") return [bubble(safe(chosenChip(interaction(message).data) || "Nothing chosen"))];
  if (line.kind === "close") return [bubble("You deleted this conversation", "faint")];
  if (!Object.hasOwn(looks, line.kind)) return plainContent(line, { isOwn: true, download: actions.download });
  const { data, received, reply: bubbleOf, picture } = interaction(message);
  const status = text(object(data.authenticate).status) || text(object(data.payment).state);
  const title = (line.kind === "timePicker" && chosenTime(data, customer)) || text(bubbleOf.title) || text(received.title);
  const subtitle = text(bubbleOf.subtitle) || text(bubbleOf.alternateTitle) || (line.kind === "invitation" ? "Accepted" : status);
  const image = picture(bubbleOf.imageIdentifier);
  return [element("div", { class: `bubble device-card ${styleOf(line.kind, text(bubbleOf.style))}` },
    image && pictureOf(image),
    element("span", { class: "device-words" },
      element("span", { class: "card-title", dir: "auto" }, safe(title || looks[line.kind][0])),
      subtitle && element("span", { class: "card-subtitle", dir: "auto" }, safe(subtitle))))];
}
