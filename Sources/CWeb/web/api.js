// A client of an API of the server, which sends the token and turns problems into sentences.

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

async function problem(answer, own) {
  let body = {};
  // A proxy may answer with a web page instead of a problem in JSON.
  try { body = await answer.json(); } catch { body = {}; }
  const kind = String(body.type ?? "").split("#")[1] ?? (answer.status === 404 ? "not-found" : "unknown");
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  const words = own(kind, body, answer.status, retryAfter) || body.detail || body.title || `The server answered ${answer.status}. Ask the operator to look at its log.`;
  return new Problem(kind, words, { status: answer.status, body, retryAfter });
}

/// The operations of the API with one token.
export class API {
  #token;
  #sentence;

  /// `sentence(kind, body, status, retryAfter)` is the page's sentence for a problem; without one the server's own words are shown.
  constructor(token, sentence) {
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

  /// Reads a JSON object.
  async read(path) { return (await this.send("GET", path)).json(); }

  /// Sends a JSON object, and returns the object of the answer.
  async change(method, path, object, headers = {}) {
    const answer = await this.send(method, path, {
      body: JSON.stringify(object), headers: { "Content-Type": "application/json", ...headers },
    });
    const text = await answer.text();
    return text ? JSON.parse(text) : {};
  }
}
