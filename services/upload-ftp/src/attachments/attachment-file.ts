import type { IncomingFile } from '../media/media-files.ts';
import { type Range, Ranges } from './ranges.ts';

/** What a file needs of its surroundings. */
export interface FilePort {
  /** Begins a file, or null where there are too many. */
  open(): Promise<IncomingFile | null>;
  /** Keeps it for good; the incoming file is gone afterwards, also when this throws. */
  keep(incoming: IncomingFile, file: AttachmentFile): Promise<void>;
  /** Nothing of it is held any more. */
  closed(): void;
}

/** What became of a file that its terminal calls done. */
export type Completion = { kind: 'kept' } | { kind: 'known' } | { kind: 'incomplete'; missing: readonly Range[] };

/**
 * One attachment of an alarm. It belongs to the alarm, not to a connection: two may bring it, one after the other or, where the first is half
 * open, at the same time; what they want is done in turn.
 */
export class AttachmentFile {
  readonly name: string;
  /** 0 image, 1 audio, 2 video, 3 text, 4 other; null until it is told. */
  type: number | null = null;
  /** Times that the terminal called it done, and nothing had come since the time before. */
  fruitless = 0;
  readonly #port: FilePort;
  readonly #ranges = new Ranges();
  #sizeBytes: number;
  #incoming: IncomingFile | null = null;
  #isKept: boolean;
  #hasNews = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(name: string, sizeBytes: number, isKept: boolean, port: FilePort) {
    this.name = name;
    this.#sizeBytes = sizeBytes;
    this.#isKept = isKept;
    this.#port = port;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isKept(): boolean {
    return this.#isKept;
  }

  /** The terminal has told its size, perhaps another than before. */
  resize(sizeBytes: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isKept || sizeBytes === this.#sizeBytes) return;
      this.#sizeBytes = sizeBytes;
      // What it was cut from is another file.
      if (this.#ranges.end > sizeBytes) await this.#drop();
    });
  }

  /** Writes what belongs to the file; answers how many bytes that were. */
  write(offset: number, data: Buffer): Promise<number> {
    return this.#inTurn(async () => {
      const length = Math.min(data.length, this.#sizeBytes - offset);
      if (this.#isKept || length <= 0) return 0;
      this.#incoming ??= await this.#port.open();
      if (this.#incoming === null) return 0;
      await this.#incoming.write(data.subarray(0, length), offset);
      if (!this.#ranges.add(offset, length)) return 0;
      this.#hasNews = true;
      return length;
    });
  }

  /** The terminal calls it done: it is kept, or so many stretches of it at most are to come again. */
  complete(mostMissing: number): Promise<Completion> {
    return this.#inTurn(async () => {
      if (this.#isKept) return { kind: 'known' };
      const missing = this.#ranges.missing(this.#sizeBytes, mostMissing);
      if (missing.length > 0) {
        this.fruitless = this.#hasNews ? 0 : this.fruitless + 1;
        this.#hasNews = false;
        return { kind: 'incomplete', missing };
      }
      // Of a file without a byte nothing has come; the alarm counts it like any other.
      this.#incoming ??= await this.#port.open();
      if (this.#incoming === null) {
        this.fruitless += 1;
        return { kind: 'incomplete', missing };
      }
      await this.#keep(this.#incoming);
      this.#isKept = true;
      return { kind: 'kept' };
    });
  }

  /** Another pod, or an earlier life of this one, has it already. */
  setKept(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isKept = true;
      await this.#drop();
    });
  }

  /** Forgets what has come of it, unless it is kept. */
  discard(): Promise<void> {
    return this.#inTurn(() => this.#drop());
  }

  async #keep(incoming: IncomingFile): Promise<void> {
    try {
      await this.#port.keep(incoming, this);
    } finally {
      this.#incoming = null;
      this.#ranges.clear();
      this.#port.closed();
    }
  }

  async #drop(): Promise<void> {
    const incoming = this.#incoming;
    if (incoming === null) return;
    this.#incoming = null;
    this.#ranges.clear();
    this.#port.closed();
    await incoming.discard();
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(task);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
