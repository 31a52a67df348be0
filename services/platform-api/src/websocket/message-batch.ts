const separator = Buffer.from(',');
const end = Buffer.from(']}}');
/** A batch is sent early once it has this size, so that no message becomes very large. */
const maxBatchBytes = 256 * 1024;

/** Collects messages for an interval and joins them to one: `{ type: "batch", ts, data: { messages } }`. */
export class MessageBatch {
  readonly #send: (message: Buffer) => void;
  #messages: Buffer[] = [];
  #sizeBytes = 0;
  #intervalMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (message: Buffer) => void) {
    this.#send = send;
  }

  /** Bytes that wait for the end of the interval. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** 0: messages are not collected. */
  get intervalMs(): number {
    return this.#intervalMs;
  }

  set intervalMs(intervalMs: number) {
    this.flush();
    this.#intervalMs = intervalMs;
  }

  add(message: Buffer): void {
    this.#messages.push(message);
    this.#sizeBytes += message.length;
    if (this.#sizeBytes >= maxBatchBytes) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), this.#intervalMs);
  }

  /** Sends what has been collected. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const messages = this.#messages;
    if (messages.length === 0) return;
    this.#messages = [];
    this.#sizeBytes = 0;
    const start = Buffer.from(`{"type":"batch","ts":${Date.now()},"data":{"messages":[`);
    const parts = messages.flatMap((message, index) => (index === 0 ? [message] : [separator, message]));
    this.#send(Buffer.concat([start, ...parts, end]));
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#messages = [];
    this.#sizeBytes = 0;
  }
}
