// Alerts to offers, to messages of one's own customers and to late answers, for the time while the page is not in front.
import { actions, done, sheet } from "./dialogs.js";
import { element, recall, remember } from "./dom.js";

const usual = { title: true, offers: true, own: true, late: true };

/// The alerts that are on: the ways `title`, `sound` and `desktop`, and the occasions `offers`, `own` and `late`.
export function alerts() {
  try { return { ...usual, ...JSON.parse(recall("alerts") ?? "{}") }; } catch { return usual; }
}

/// Alerts the person to a conversation, unless the page is in front; the title counts on its own.
export function alertTo({ kind, text }) {
  if (!alerts()[kind] || (document.visibilityState === "visible" && document.hasFocus())) return;
  const { sound, desktop } = alerts();
  if (desktop && globalThis.Notification?.permission === "granted") new Notification(text, { tag: "inbox" });
  if (!sound) return;
  const audio = new AudioContext();
  const tone = audio.createOscillator();
  tone.connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.15);
  tone.onended = () => void audio.close();
}

/// Asks which alerts are on.
export function showAlerts() {
  const names = {
    title: "Count what you have not seen in the title", sound: "Play a sound", desktop: "Show a notification of this computer",
    offers: "When a conversation is offered to you", own: "When a customer of yours writes", late: "When a customer of yours waits too long",
  };
  return sheet("Alerts", (finish) => element("div", { class: "sheet-body" }, element("p", {}, "Sounds and notifications come while this page is not in front."),
    Object.entries(names).map(([name, label]) => {
      const box = element("input", { type: "checkbox", id: `alert-${name}` });
      box.checked = Boolean(alerts()[name]);
      box.addEventListener("change", async () => {
        if (name === "desktop" && box.checked) box.checked = await globalThis.Notification?.requestPermission() === "granted";
        remember("alerts", JSON.stringify({ ...alerts(), [name]: box.checked }));
      });
      return element("label", { class: "check", for: box.id }, box, label);
    }), actions(done(finish))));
}
