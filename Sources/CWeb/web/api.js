// A client of the business API, which sends the token and turns problems into sentences.

/// A request that failed, with a sentence that says what to do.
export class Problem extends Error {
  constructor(kind, sentence, { status = 0, body = {}, retryAfter = 0 } = {}) {
    super(sentence);
    this.kind = kind;
    this.status = status;
    this.body = body;
    this.retryAfter = retryAfter;
  }
}

const unreachable = "The server does not answer. Check that Balloon runs and that this computer is online; the page tries again by itself.";

function sentence(kind, body, status, retryAfter) {
  const detail = typeof body.detail === "string" ? body.detail : "";
  const wait = retryAfter > 1 ? `in ${retryAfter} seconds` : "in a moment";
  switch (kind) {
    case "unauthenticated": return "The server does not know this token. Sign in with a token that is in the server's file.";
    case "too-many-failures": return `Too many wrong tokens came from here. Try again ${wait}.`;
    case "too-many-requests": return `This token has used its requests of this minute. Try again ${wait}.`;
    case "right-missing": return "This token may not do that. Ask for one with the rights read and send.";
    case "closed": return "The customer closed this conversation. You can answer when they write again.";
    case "claimed": return `${body.person?.name ?? body.person?.id ?? "A colleague"} has this conversation. Take it over to answer.`;
    case "changed": return "A colleague was faster. Look at the conversation again.";
    case "misdirected": return "The server does not answer under this name. Open the page by its own address, or add the name to api.hosts.";
    case "index-loading": return `The server still reads its conversations${detail ? ` (${detail})` : ""}. They appear here by themselves.`;
    case "unavailable": return `The server cannot do this now${detail ? `: ${detail}` : ""}. Nothing is lost; try again ${wait}.`;
    case "not-showable": return `The customer's device cannot show this message${detail ? `: ${detail}` : ""}.`;
    case "unprocessable": return body.problems?.length ? "Apple would refuse this message." : `${detail || body.title}.`;
    case "too-large": return "This is too large. Send a smaller file or a shorter text.";
    case "internal-error": return `The server failed. Give the operator this reference: ${body.reference ?? "none"}.`;
    case "not-found": return status === 404 && !body.type ? "The inbox or the API is switched off. Ask the operator." : "This does not exist any more. Reload the list.";
    default: return detail || body.title || `The server answered ${status}. Ask the operator to look at its log.`;
  }
}

async function problem(answer, own) {
  let body = {};
  // A proxy may answer with a web page instead of a problem in JSON.
  try { body = await answer.json(); } catch { body = {}; }
  const kind = String(body.type ?? "").split("#")[1] ?? (answer.status === 404 ? "not-found" : "unknown");
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return new Problem(kind, own(kind, body, answer.status) ?? sentence(kind, body, answer.status, retryAfter), { status: answer.status, body, retryAfter });
}

/// The operations of the API with one token.
export class API {
  #token;
  #sentence;

  /// `sentence(kind, body, status)` replaces the sentences of problems that another page explains in its own way.
  constructor(token, sentence = () => undefined) {
    this.#token = token;
    this.#sentence = sentence;
  }

  /// A short name by which the tabs of a browser recognize the same token; the token cannot be computed from it.
  get tag() {
    let sum = 0x811c9dc5;
    for (const character of this.#token) sum = Math.imul(sum ^ character.codePointAt(0), 0x01000193) >>> 0;
    return sum.toString(16);
  }

  /// Sends a request, and returns the answer when it succeeded.
  async send(method, path, { body, headers = {}, signal } = {}) {
    let answer;
    try {
      answer = await fetch(path, {
        method, signal, body, cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
        headers: { Authorization: `Bearer ${this.#token}`, ...headers },
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem("unreachable", unreachable);
    }
    if (!answer.ok) throw await problem(answer, this.#sentence);
    return answer;
  }

  /// Reads a JSON object, and adds `next`, the address of the next page if there is one.
  async read(path, signal) {
    const answer = await this.send("GET", path, { signal });
    const next = /<([^>]+)>;\s*rel="next"/u.exec(answer.headers.get("Link") ?? "")?.[1];
    return { ...await answer.json(), ...(next && { next: new URL(next, location.href).pathname + new URL(next, location.href).search }) };
  }

  /// Sends a JSON object, and returns the object of the answer.
  async change(method, path, object, headers = {}) {
    const answer = await this.send(method, path, {
      body: JSON.stringify(object), headers: { "Content-Type": "application/json", ...headers },
    });
    const text = await answer.text();
    return text ? JSON.parse(text) : {};
  }
}

/// A random UUID, also on pages without TLS, on which `crypto.randomUUID` does not exist.
export function randomUUID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}
