// The regular expressions of forms, which come from outside: parsed and matched within fixed limits. A RegExp can take hours for one text.
// RegularExpression of the server does the same; see there for the method.
const maximumLength = 2048;
const maximumDepth = 32;
const maximumCount = 100_000;
const maximumSteps = 400_000;

class Invalid extends Error {}
class Undecided extends Error {}

const lineBreak = /[\n-\r\u0085\u2028\u2029]/u;
const sets = { d: /\p{Nd}/u, w: /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]/u, s: /\p{White_Space}/u, h: /[\t\p{Zs}]/u, v: lineBreak };
const controls = { t: "\t", n: "\n", r: "\r", f: "\f", a: "\u0007", e: "\u001b", 0: "\0" };
const anchors = { A: "start", Z: "lastLineEnd", z: "end", b: "boundary", B: "noBoundary" };
const one = (character) => (other) => other === character;
const like = (expression) => (character) => expression.test(character);
const not = (set) => (character) => !set(character);
const any = (list) => (character) => list.some((set) => set(character));

class Parser {
  #text;
  #at = 0;
  #depth = 0;
  /// The operators of the outermost class, each of which nests the sets before it.
  #operators = 0;
  #flags = { i: false, s: false, m: false, x: false };

  constructor(text) { this.#text = [...text]; }

  whole() {
    const node = this.#alternatives();
    if (this.#at < this.#text.length) throw new Invalid();
    return node;
  }

  #take(wanted) {
    const characters = [...wanted];
    if (!characters.every((one, index) => this.#text[this.#at + index] === one)) return false;
    this.#at += characters.length;
    return true;
  }

  #next() {
    if (this.#at >= this.#text.length) throw new Invalid();
    this.#at += 1;
    return this.#text[this.#at - 1];
  }

  #enter() {
    this.#depth += 1;
    if (this.#depth > maximumDepth) throw new Invalid();
  }

  #alternatives() {
    this.#enter();
    const outer = this.#flags;
    const branches = [[]];
    while (this.#at < this.#text.length && this.#text[this.#at] !== ")") {
      if (this.#take("|")) { branches.push([]); continue; }
      const item = this.#item();
      if (item) branches.at(-1).push(this.#quantified(item));
    }
    this.#flags = outer;
    this.#depth -= 1;
    return { kind: "alternatives", nodes: branches.map((nodes) => ({ kind: "sequence", nodes })) };
  }

  /// A set, and the number of comparisons that one look-up in it takes at most.
  #set(set, cost = 1) {
    if (!this.#flags.i) return { kind: "set", set, cost };
    return { kind: "set", set: (one) => set(one) || set(one.toLowerCase()) || set(one.toUpperCase()), cost: 3 * cost };
  }

  #item() {
    const character = this.#next();
    switch (character) {
      case "(": return this.#group();
      case "[": {
        const start = this.#at;
        this.#operators = 0;
        const set = this.#characterClass();
        // No part of a class is shorter than one character.
        return this.#set(set, this.#at - start);
      }
      case ".": return { kind: "set", set: this.#flags.s ? () => true : not(like(lineBreak)), cost: 1 };
      case "^": return { kind: "anchor", anchor: this.#flags.m ? "lineStart" : "start" };
      case "$": return { kind: "anchor", anchor: this.#flags.m ? "lineEnd" : "lastLineEnd" };
      case "\\": return this.#escape();
      case "*": case "+": case "?": throw new Invalid();
      default:
        if (this.#flags.x && sets.s.test(character)) return undefined;
        if (this.#flags.x && character === "#") {
          while (this.#at < this.#text.length && !lineBreak.test(this.#text[this.#at])) this.#at += 1;
          return undefined;
        }
        return this.#set(one(character));
    }
  }

  #quantified(node) {
    const counts = this.#counts();
    if (!counts) return node;
    if (this.#take("+")) return { kind: "unsupported" };
    this.#take("?");
    return { kind: "repetition", node, ...counts };
  }

  #counts() {
    if (this.#take("*")) return { minimum: 0, maximum: Infinity };
    if (this.#take("+")) return { minimum: 1, maximum: Infinity };
    if (this.#take("?")) return { minimum: 0, maximum: 1 };
    const start = this.#at;
    if (!this.#take("{")) return undefined;
    const minimum = this.#number();
    const maximum = this.#take(",") ? this.#number() ?? (minimum === undefined ? undefined : Infinity) : minimum;
    if (maximum === undefined || !this.#take("}")) {
      // A brace that begins no count stands for itself.
      this.#at = start;
      return undefined;
    }
    if ((minimum ?? 0) > maximum) throw new Invalid();
    return { minimum: minimum ?? 0, maximum };
  }

  #number() {
    let value;
    while (/^[0-9]$/u.test(this.#text[this.#at] ?? "")) {
      value = (value ?? 0) * 10 + Number(this.#next());
      if (value > maximumCount) throw new Invalid();
    }
    return value;
  }

  #closed(node) {
    if (!this.#take(")")) throw new Invalid();
    return node;
  }

  #group() {
    if (!this.#take("?")) return this.#closed(this.#alternatives());
    if (this.#take("#")) { while (this.#next() !== ")"); return undefined; }
    if (this.#take(":")) return this.#closed(this.#alternatives());
    if (this.#take(">")) { this.#closed(this.#alternatives()); return { kind: "unsupported" }; }
    for (const [mark, isBehind, isNegated] of [["=", false, false], ["!", false, true], ["<=", true, false], ["<!", true, true]]) {
      if (this.#take(mark)) return { kind: "look", node: this.#closed(this.#alternatives()), isBehind, isNegated };
    }
    if (this.#take("P<") || this.#take("<")) { this.#name(">"); return this.#closed(this.#alternatives()); }
    const changed = { ...this.#flags };
    for (let value = true; ;) {
      const letter = this.#next();
      if (letter in changed) changed[letter] = value;
      else if (letter === "-" && value) value = false;
      else if (letter === ")") { this.#flags = changed; return undefined; } else if (letter === ":") {
        const outer = this.#flags;
        this.#flags = changed;
        const node = this.#alternatives();
        this.#flags = outer;
        return this.#closed(node);
      } else throw new Invalid();
    }
  }

  #name(end) {
    let name = "";
    for (let letter = this.#next(); letter !== end; letter = this.#next()) {
      if (!/^\w$/u.test(letter)) throw new Invalid();
      name += letter;
    }
    if (!name) throw new Invalid();
  }

  #escape() {
    const letter = this.#next();
    if (letter in anchors) return { kind: "anchor", anchor: anchors[letter] };
    if (letter === "E") return undefined;
    if (/^[GXK]$/u.test(letter)) return { kind: "unsupported" };
    if (/^[1-9]$/u.test(letter)) { while (/^[0-9]$/u.test(this.#text[this.#at] ?? "")) this.#at += 1; return { kind: "unsupported" }; }
    if (letter === "k") {
      if (!this.#take("<")) throw new Invalid();
      this.#name(">");
      return { kind: "unsupported" };
    }
    if (letter === "R") {
      const [cr, lf, either] = [one("\r"), one("\n"), like(lineBreak)].map((set) => ({ kind: "set", set, cost: 1 }));
      return { kind: "alternatives", nodes: [{ kind: "sequence", nodes: [cr, lf] }, either] };
    }
    if (letter === "Q") {
      const nodes = [];
      while (this.#at < this.#text.length && !this.#take("\\E")) nodes.push(this.#set(one(this.#next())));
      return { kind: "sequence", nodes };
    }
    return this.#set(this.#escaped(letter));
  }

  #escaped(letter) {
    if (letter === "N") return not(like(lineBreak));
    const known = sets[letter.toLowerCase()];
    if (known) return letter === letter.toLowerCase() ? like(known) : not(like(known));
    if (letter in controls) return one(controls[letter]);
    if (letter === "p" || letter === "P") return this.#property(letter);
    if (letter === "c") return one(String.fromCodePoint(this.#next().codePointAt(0) & 0x1f));
    if (/^[xuU]$/u.test(letter)) return one(this.#hexadecimal({ x: 2, u: 4, U: 8 }[letter]));
    if (/^[\p{Alphabetic}0-9]$/u.test(letter)) throw new Invalid();
    return one(letter);
  }

  #hexadecimal(count) {
    const isBraced = this.#take("{");
    let digits = "";
    while (digits.length < (isBraced ? 8 : count) && /^[0-9a-f]$/iu.test(this.#text[this.#at] ?? "")) digits += this.#next();
    const value = Number.parseInt(digits, 16);
    if ((isBraced ? digits.length < 1 || !this.#take("}") : digits.length < count) || !(value <= 0x10ffff)) throw new Invalid();
    return String.fromCodePoint(value);
  }

  #property(letter) {
    let name = this.#next();
    if (name === "{") {
      name = "";
      for (let next = this.#next(); next !== "}"; next = this.#next()) {
        if (!/^[\w=\-^&. ]$/u.test(next)) throw new Invalid();
        name += next;
      }
    }
    const isInverted = name.startsWith("^") !== (letter === "P");
    const plain = name.replace(/^\^/u, "").replace(/^Is/u, "");
    if (!/^[A-Za-z]/u.test(plain)) throw new Invalid();
    let set;
    // The name is a short word, so this expression is no expression from outside.
    try { set = like(new RegExp(`\\p{${plain}}`, "u")); } catch { return () => { throw new Undecided(); }; }
    return isInverted ? not(set) : set;
  }

  #characterClass() {
    this.#enter();
    const isInverted = this.#take("^");
    let list = this.#take("]") ? [one("]")] : [];
    while (!this.#take("]")) {
      if (this.#take("&&") || this.#take("--")) {
        this.#operators += 1;
        if (this.#operators > maximumDepth) throw new Invalid();
        const isDifference = this.#text[this.#at - 1] === "-";
        const left = any(list);
        const right = this.#operand();
        list = [(character) => left(character) && right(character) !== isDifference];
      } else if (this.#take("[:")) {
        let name = "";
        for (let next = this.#next(); next !== ":"; next = this.#next()) name += next;
        if (!this.#take("]")) throw new Invalid();
        const posix = { alpha: /\p{Alphabetic}/u, digit: sets.d, alnum: /[\p{Alphabetic}\p{Nd}]/u, space: sets.s, upper: /\p{Lu}/u, lower: /\p{Ll}/u, punct: /\p{P}/u };
        list.push(posix[name] ? like(posix[name]) : () => { throw new Undecided(); });
      } else if (this.#take("[")) list.push(this.#characterClass());
      else list.push(this.#range());
    }
    this.#depth -= 1;
    const set = any(list);
    return isInverted ? not(set) : set;
  }

  #isAtOperator() {
    const [first, second] = this.#text.slice(this.#at, this.#at + 2);
    return first === second && (first === "&" || first === "-");
  }

  #operand() {
    if (this.#take("[")) return this.#characterClass();
    const list = [];
    while (this.#at < this.#text.length && !/^[[\]]$/u.test(this.#text[this.#at]) && !this.#isAtOperator()) list.push(this.#range());
    if (this.#at >= this.#text.length) throw new Invalid();
    return any(list);
  }

  #range() {
    const first = this.#inClass();
    if (typeof first === "function" || this.#isAtOperator() || this.#text[this.#at] !== "-" || (this.#text[this.#at + 1] ?? "]") === "]") {
      return typeof first === "function" ? first : one(first);
    }
    this.#at += 1;
    if (this.#text[this.#at] === "[") return any([one(first), one("-")]);
    const last = this.#inClass();
    if (typeof last === "function") return any([one(first), one("-"), last]);
    const [low, high] = [first.codePointAt(0), last.codePointAt(0)];
    if (low > high) throw new Invalid();
    return (character) => character.codePointAt(0) >= low && character.codePointAt(0) <= high;
  }

  /// A character, or the set of an escape such as `\d`.
  #inClass() {
    const character = this.#next();
    if (character !== "\\") return character;
    if (this.#take("b")) return "\b";
    const letter = this.#next();
    if (letter in controls) return controls[letter];
    if (/^[xuU]$/u.test(letter)) return this.#hexadecimal({ x: 2, u: 4, U: 8 }[letter]);
    if (!/^[\p{Alphabetic}0-9]$/u.test(letter)) return letter;
    return this.#escaped(letter);
  }
}

/// Computes the set of all positions at which a part can end from the set of those at which it can begin.
class Matcher {
  #text;
  #left = maximumSteps;

  constructor(text) { this.#text = [...text]; }

  matches(node) { return this.#ends(node, new Set([0])).has(this.#text.length); }

  #spend(steps) {
    this.#left -= steps;
    if (this.#left < 0) throw new Undecided();
  }

  #ends(node, starts) {
    this.#spend(1 + starts.size);
    switch (node.kind) {
      case "set":
        this.#spend(starts.size * node.cost);
        return new Set([...starts].filter((at) => at < this.#text.length && node.set(this.#text[at])).map((at) => at + 1));
      case "sequence": {
        let reached = starts;
        for (const part of node.nodes) { if (reached.size === 0) break; reached = this.#ends(part, reached); }
        return reached;
      }
      case "alternatives": return new Set(node.nodes.flatMap((part) => [...this.#ends(part, starts)]));
      case "repetition": return this.#repeated(node, starts);
      case "look": {
        if (node.isBehind) {
          const reached = this.#ends(node.node, new Set(this.#text.keys()).add(this.#text.length));
          return new Set([...starts].filter((at) => reached.has(at) !== node.isNegated));
        }
        return new Set([...starts].filter((at) => (this.#ends(node.node, new Set([at])).size > 0) !== node.isNegated));
      }
      case "anchor": return new Set([...starts].filter((at) => this.#isAt(node.anchor, at)));
      default: throw new Undecided();
    }
  }

  #repeated({ node, minimum, maximum }, starts) {
    let reached = starts;
    for (let count = 0; count < minimum; count += 1) {
      const next = this.#ends(node, reached);
      const isSame = next.size === reached.size && [...next].every((at) => reached.has(at));
      reached = next;
      if (isSame) break;
    }
    const all = new Set(reached);
    for (let extra = minimum, newest = reached; newest.size > 0 && extra < maximum; extra += 1) {
      newest = new Set([...this.#ends(node, newest)].filter((at) => !all.has(at)));
      for (const at of newest) all.add(at);
    }
    return all;
  }

  #isAt(anchor, at) {
    const last = this.#text.length;
    const isBreak = (position) => lineBreak.test(this.#text[position] ?? "");
    const isWord = (position) => sets.w.test(this.#text[position] ?? "");
    switch (anchor) {
      case "start": return at === 0;
      case "end": return at === last;
      case "lineStart": return at === 0 || isBreak(at - 1);
      case "lineEnd": return at === last || isBreak(at);
      case "lastLineEnd": return at === last || (at === last - 1 && isBreak(at));
      default: return (isWord(at - 1) !== isWord(at)) === (anchor === "boundary");
    }
  }
}

/// The pattern of an input page: a function that checks a text, and `broken` for one that a device ignores.
///
/// A text whose match cannot be decided within the limits is accepted.
export function patternOf(source) {
  if (!source) return { matches: () => true };
  let root;
  try {
    if (source.length > maximumLength) throw new Invalid();
    root = new Parser(source).whole();
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    return { matches: () => true, broken: "The pattern is no regular expression; a device ignores it." };
  }
  return {
    matches: (value) => {
      try { return new Matcher(value).matches(root); } catch (error) {
        if (error instanceof Undecided) return true;
        throw error;
      }
    },
  };
}
