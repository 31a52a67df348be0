import type { IncomingFile } from '../media/media-files.ts';
import { type Range, Ranges } from './ranges.ts';

/** What a file needs of its surroundings. */
export interface AttachmentStorage {
  /** Begins a file, or null where there are too many. */
  open(): Promise<IncomingFile | null>;
  /** Keeps it for good; the incoming file is gone afterwards, also when this throws. */
  store(incoming: IncomingFile, file: AttachmentFile): Promise<void>;
  /** Nothing of it is held any more. */
  onClosed(): void;
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
  stalledRounds = 0;
  readonly #storage: AttachmentStorage;
  readonly #ranges = new Ranges();
  #sizeBytes: number;
  #incoming: IncomingFile | null = null;
  #isStored: boolean;
  #hasProgress = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(name: string, sizeBytes: number, isStored: boolean, storage: AttachmentStorage) {
    this.name = name;
    this.#sizeBytes = sizeBytes;
    this.#isStored = isStored;
    this.#storage = storage;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isStored(): boolean {
    return this.#isStored;
  }

  /** The terminal has told its size, perhaps another than before. */
  resize(sizeBytes: number): Promise<void> {
    return this.#runExclusive(async () => {
      if (this.#isStored || sizeBytes === this.#sizeBytes) return;
      this.#sizeBytes = sizeBytes;
      // What it was cut from is another file.
      if (this.#ranges.end > sizeBytes) await this.#discardIncoming();
    });
  }

  /** Writes what belongs to the file; answers how many bytes that were. */
  write(offset: number, data: Buffer): Promise<number> {
    return this.#runExclusive(async () => {
      const length = Math.min(data.length, this.#sizeBytes - offset);
      if (this.#isStored || length <= 0) return 0;
      this.#incoming ??= await this.#storage.open();
      if (this.#incoming === null) return 0;
      await this.#incoming.write(data.subarray(0, length), offset);
      if (!this.#ranges.add(offset, length)) return 0;
      this.#hasProgress = true;
      return length;
    });
  }

  /** The terminal calls it done: it is kept, or so many stretches of it at most are to come again. */
  complete(maxRanges: number): Promise<Completion> {
    return this.#runExclusive(async () => {
      if (this.#isStored) return { kind: 'known' };
      const missing = this.#ranges.findMissing(this.#sizeBytes, maxRanges);
      if (missing.length > 0) {
        this.stalledRounds = this.#hasProgress ? 0 : this.stalledRounds + 1;
        this.#hasProgress = false;
        return { kind: 'incomplete', missing };
      }
      // Of a file without a byte nothing has come; the alarm counts it like any other.
      this.#incoming ??= await this.#storage.open();
      if (this.#incoming === null) {
        this.stalledRounds += 1;
        return { kind: 'incomplete', missing };
      }
      await this.#store(this.#incoming);
      this.#isStored = true;
      return { kind: 'kept' };
    });
  }

  /** Another pod, or an earlier life of this one, has it already. */
  markStored(): Promise<void> {
    return this.#runExclusive(async () => {
      this.#isStored = true;
      await this.#discardIncoming();
    });
  }

  /** Forgets what has come of it, unless it is kept. */
  discard(): Promise<void> {
    return this.#runExclusive(() => this.#discardIncoming());
  }

  async #store(incoming: IncomingFile): Promise<void> {
    try {
      await this.#storage.store(incoming, this);
    } finally {
      this.#incoming = null;
      this.#ranges.clear();
      this.#storage.onClosed();
    }
  }

  async #discardIncoming(): Promise<void> {
    const incoming = this.#incoming;
    if (incoming === null) return;
    this.#incoming = null;
    this.#ranges.clear();
    this.#storage.onClosed();
    await incoming.discard();
  }

  #runExclusive<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
