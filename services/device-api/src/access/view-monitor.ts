import type { VideoAccess } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { isRefusal } from './bus-errors.ts';
import { type AccessQuery, describeQuery, type VideoAccessCache } from './video-access-cache.ts';

/** Open video, and the access on which it depends. */
interface OpenView {
  readonly query: AccessQuery;
  /** Returns whether access still permits the video. */
  readonly isPermitted: (access: VideoAccess) => boolean;
  /** The access with which it was opened. */
  readonly access: VideoAccess;
  readonly log: Logger;
  readonly close: () => void;
}

interface WatchedView extends OpenView {
  readonly id: string;
  vehicleAccountId: number | null;
  expiresAtMs: number | null;
  dueAtMs: number;
}

/**
 * Interval at which the access of open video is checked again, independent of events: a change takes effect within five
 * seconds although an event was lost.
 */
const checkIntervalMs = 2_000;
const retryIntervalMs = 1_000;
const tickIntervalMs = 500;
/** Checks at a time; views of one caller, device and address share one. */
const maxConcurrentChecks = 16;

/** Closes video whose caller loses access: immediately after an event, within seconds after a lost one. */
export class ViewMonitor {
  readonly #cache: VideoAccessCache;
  readonly #views = new Map<string, Set<WatchedView>>();
  readonly #checking = new Set<string>();
  readonly #tickTimer: NodeJS.Timeout;

  constructor(cache: VideoAccessCache) {
    this.#cache = cache;
    cache.onChanged((isAffected) => {
      const now = performance.now();
      for (const view of this.#all())
        if (isAffected(view.query.caller, view.vehicleAccountId)) view.dueAtMs = Math.min(view.dueAtMs, now);
      this.#checkDue();
    });
    this.#tickTimer = setInterval(() => this.#checkDue(), tickIntervalMs);
  }

  /** Watches open video until the returned function is called. */
  watch(view: OpenView): () => void {
    const id = describeQuery(view.query);
    const { vehicleAccountId, expiresAtMs } = view.access;
    // Access may have ended since it was checked, when there was nothing to close.
    const watched: WatchedView = { ...view, id, vehicleAccountId, expiresAtMs, dueAtMs: performance.now() };
    const views = this.#views.get(id) ?? new Set();
    this.#views.set(id, views.add(watched));
    this.#checkDue();
    return () => this.#remove(watched);
  }

  stop(): void {
    clearInterval(this.#tickTimer);
  }

  *#all(): Generator<WatchedView> {
    for (const views of this.#views.values()) yield* views;
  }

  #remove(view: WatchedView): void {
    const views = this.#views.get(view.id);
    if (views?.delete(view) === true && views.size === 0) this.#views.delete(view.id);
  }

  #checkDue(): void {
    this.#closeExpired();
    const now = performance.now();
    for (const [id, views] of this.#views) {
      if (this.#checking.size >= maxConcurrentChecks) return;
      const isDue = [...views].some(({ dueAtMs }) => dueAtMs <= now);
      if (isDue && !this.#checking.has(id)) void this.#check(id, views);
    }
  }

  // The end of a share needs no request.
  #closeExpired(): void {
    const now = Date.now();
    for (const view of this.#all()) if (view.expiresAtMs !== null && view.expiresAtMs <= now) this.#close(view);
  }

  async #check(id: string, views: ReadonlySet<WatchedView>): Promise<void> {
    const startedAtMs = performance.now();
    this.#checking.add(id);
    const dueAtMs = await this.#closeRefused(views, startedAtMs);
    this.#checking.delete(id);
    // A change during the check needs another one.
    for (const view of views) if (view.dueAtMs <= startedAtMs) view.dueAtMs = dueAtMs;
    this.#checkDue();
  }

  /** Closes the views that would be rejected now; returns when the next check is due. */
  async #closeRefused(views: ReadonlySet<WatchedView>, startedAtMs: number): Promise<number> {
    const [first] = views;
    if (first === undefined) return startedAtMs;
    try {
      const access = await this.#cache.fetch(first.query, '');
      for (const view of views) {
        view.vehicleAccountId = access.vehicleAccountId;
        view.expiresAtMs = access.expiresAtMs;
        if (!view.isPermitted(access)) this.#close(view);
      }
      return startedAtMs + checkIntervalMs;
    } catch (error) {
      // A failed check decides nothing, and is repeated.
      if (!isRefusal(error)) {
        first.log.debug({ err: error }, 'could not check the access of a viewer again');
        return performance.now() + retryIntervalMs;
      }
      for (const view of views) this.#close(view);
      return startedAtMs + checkIntervalMs;
    }
  }

  #close(view: WatchedView): void {
    this.#remove(view);
    view.close();
  }
}
