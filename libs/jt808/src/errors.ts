/** A body that does not fit its message's layout; `path` names the field at which it was noticed. Answer result 2. */
export class BodyError extends Error {
  readonly reason: string;
  path: string;

  constructor(reason: string, path = '') {
    // Bad bodies are a device's doing and may come by the thousand: no stack is taken, the path says where.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(reason);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'BodyError';
    this.reason = reason;
    this.path = path;
  }

  /** Puts the enclosing field in front of the path while the error travels outwards. */
  within(key: string): this {
    this.path = this.path === '' ? key : `${key}.${this.path}`;
    this.message = `${this.path}: ${this.reason}`;
    return this;
  }
}

/** A value that the wire format cannot carry (number too long, text outside GBK, missing field); `path` names the field. */
export class EncodeError extends Error {
  readonly reason: string;
  path: string;

  constructor(reason: string, path = '') {
    super(path === '' ? reason : `${path}: ${reason}`);
    this.name = 'EncodeError';
    this.reason = reason;
    this.path = path;
  }

  /** Puts the enclosing field in front of the path while the error travels outwards. */
  within(key: string): this {
    this.path = this.path === '' ? key : `${key}.${this.path}`;
    this.message = `${this.path}: ${this.reason}`;
    return this;
  }
}
