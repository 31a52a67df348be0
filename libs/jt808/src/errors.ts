/**
 * Thrown for a body that does not fit its message's layout; `path` names the field at which decoding failed. Respond
 * with result 2.
 */
export class BodyError extends Error {
  readonly reason: string;
  path: string;

  constructor(reason: string, path = '') {
    // Devices may send thousands of invalid bodies, so no stack is captured; the path locates the error.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(reason);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'BodyError';
    this.reason = reason;
    this.path = path;
  }

  /** Prepends the enclosing field to the path while the error propagates. */
  within(key: string): this {
    this.path = this.path === '' ? key : `${key}.${this.path}`;
    this.message = `${this.path}: ${this.reason}`;
    return this;
  }
}

/**
 * Thrown for a value that the wire format cannot carry (number too large, text outside GBK, missing field); `path`
 * names the field.
 */
export class EncodeError extends Error {
  readonly reason: string;
  path: string;

  constructor(reason: string, path = '') {
    super(path === '' ? reason : `${path}: ${reason}`);
    this.name = 'EncodeError';
    this.reason = reason;
    this.path = path;
  }

  /** Prepends the enclosing field to the path while the error propagates. */
  within(key: string): this {
    this.path = this.path === '' ? key : `${key}.${this.path}`;
    this.message = `${this.path}: ${this.reason}`;
    return this;
  }
}
