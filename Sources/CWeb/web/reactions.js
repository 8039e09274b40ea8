// Tapbacks: a customer's reaction arrives as an English sentence, `Liked “Here it is”`, and is shown at the message that it names.
import { list, object, text } from "./bubbles.js";

const signs = { Loved: "❤️", Liked: "👍", Disliked: "👎", "Laughed at": "😂", Emphasized: "‼️", Emphasised: "‼️", Questioned: "❓" };
const removed = { "a heart": "❤️", "a like": "👍", "a dislike": "👎", "a laugh": "😂", "an exclamation mark": "‼️", "an exclamation": "‼️", "a question mark": "❓" };

/// Whether a customer's line is a tapback, which needs no answer.
export function isTapback(line) { return line.direction === "inbound" && line.kind === "text" && read(text(object(line.message).body).trim()) !== undefined; }

/// The lines without the tapbacks whose message is among them; that message has the signs in `reactions`.
export function placed(lines) {
  const shown = [];
  for (const line of lines) {
    const tapback = isTapback(line) && read(text(object(line.message).body).trim());
    const place = tapback ? shown.findLastIndex((one) => one.direction === "outbound" && isTarget(one, tapback.target)) : -1;
    if (place < 0) {
      shown.push(line);
      continue;
    }
    const reactions = (shown[place].reactions ?? []).filter((sign) => sign !== tapback.sign);
    shown[place] = { ...shown[place], reactions: tapback.isRemoved ? reactions : [...reactions, tapback.sign] };
  }
  return shown;
}

function read(body) {
  const found = /^(Loved|Liked|Disliked|Laughed at|Emphasi[sz]ed|Questioned|Reacted (?<sign>\S+) to|Removed (?<gone>.+?) from) (?<target>.+)$/su.exec(body);
  if (!found) return undefined;
  const { sign, gone, target } = found.groups;
  return { sign: signs[found[1]] ?? sign ?? removed[gone] ?? gone.replace(/^an? /u, ""), isRemoved: Boolean(gone), target };
}

/// Whether a sentence's target is this message: a quotation, which may be cut, a file, or an interactive message.
function isTarget(line, target) {
  const message = object(line.message);
  const quoted = /^[“"](?<words>.+)[”"]$/su.exec(target)?.groups.words;
  if (quoted === undefined) return /Business Messages?$/u.test(target) ? message.type === "interactive" : list(message.attachments).length > 0;
  const body = text(message.body).trim();
  return body === quoted || (/(?:…|\.\.\.)$/u.test(quoted) && body.startsWith(quoted.replace(/(?:…|\.\.\.)$/u, "")));
}
