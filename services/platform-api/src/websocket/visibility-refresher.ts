import type { Logger } from '@fleet/service-kit';
import type { Refusal } from '../access/token-holders.ts';
import { isRefusal, type LoadDeps, loadVisibility } from './load-visibility.ts';
import { SingleFlight } from './single-flight.ts';
import type { UserVisibility } from './user-visibility.ts';
import type { VisibilitySnapshot } from './visibility-snapshot.ts';

/** Concurrent changes are read once. */
export const debounceMs = 50;
const concurrency = 8;
const retryDelayMs = 1_000;

interface RefresherOptions {
  readonly isCached: (visibility: UserVisibility) => boolean;
  /** Called for a visibility whose user lost access. */
  readonly onRefused: (visibility: UserVisibility) => void;
}

/** Reads cached visibilities again, with limited concurrency. */
export class VisibilityRefresher {
  readonly #deps: LoadDeps & { readonly log: Logger };
  readonly #options: RefresherOptions;
  readonly #due = new Set<UserVisibility>();
  /** Reads for opening connections. */
  readonly #urgent = new SingleFlight<UserVisibility, VisibilitySnapshot | Refusal>((visibility) =>
    this.#read(visibility),
  );
  #debounce: NodeJS.Timeout | undefined;
  #reading = 0;

  constructor(deps: LoadDeps & { readonly log: Logger }, options: RefresherOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Reads visibilities that may have changed, together with those of concurrent calls. */
  schedule(visibilities: Iterable<UserVisibility>): void {
    for (const visibility of visibilities) this.#due.add(visibility);
    if (this.#due.size === 0) return;
    this.#debounce ??= setTimeout(() => {
      this.#debounce = undefined;
      this.#startReads();
    }, debounceMs);
  }

  /** Reads visibilities, and all that are scheduled, without a delay. */
  refresh(visibilities: Iterable<UserVisibility>): void {
    for (const visibility of visibilities) this.#due.add(visibility);
    this.#startReads();
  }

  /** Starts a read after this call, outside the limit; callers during a read share the next one. */
  readNow(visibility: UserVisibility): Promise<VisibilitySnapshot | Refusal> {
    return this.#urgent.get(visibility);
  }

  cancel(visibility: UserVisibility): void {
    this.#due.delete(visibility);
  }

  stop(): void {
    clearTimeout(this.#debounce);
    this.#due.clear();
  }

  #startReads(): void {
    for (const visibility of this.#due) {
      if (this.#reading >= concurrency) return;
      this.#due.delete(visibility);
      this.#reading += 1;
      void this.#tryRead(visibility).finally(() => {
        this.#reading -= 1;
        this.#startReads();
      });
    }
  }

  async #tryRead(visibility: UserVisibility): Promise<void> {
    visibility.readAtMs = performance.now();
    try {
      await this.#read(visibility);
    } catch (error) {
      // A failed read decides nothing: it is retried soon.
      setTimeout(() => this.#options.isCached(visibility) && this.#due.add(visibility), retryDelayMs).unref();
      this.#deps.log.warn({ err: error, userId: visibility.holder.userId }, 'could not read the visibility of a user');
    }
  }

  async #read(visibility: UserVisibility): Promise<VisibilitySnapshot | Refusal> {
    const read = visibility.beginRead();
    const loaded = await loadVisibility(this.#deps, visibility.holder);
    if (isRefusal(loaded)) this.#options.onRefused(visibility);
    else visibility.update(loaded, read);
    return loaded;
  }
}
