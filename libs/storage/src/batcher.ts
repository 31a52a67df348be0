interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Limits one command: a server runs one write command per collection at a time, and others wait for it. */
const maxBatchSize = 500;

/**
 * Joins operations that arrive during a command into the next command. Under load one command serves hundreds of
 * callers; otherwise each runs immediately.
 */
export class Batcher<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  #waiting: Waiting<Item, Result>[] = [];
  #isRunning = false;

  /**
   * @param run executes a batch and returns one result for each item, in the same order; a rejection rejects every item
   * of the batch
   */
  constructor(run: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#run = run;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await this.#runBatch(this.#waiting.splice(0, maxBatchSize));
    this.#isRunning = false;
  }

  async #runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
