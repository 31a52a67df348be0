import { randomUUID } from 'node:crypto';
import type { RequestContext } from '@fleet/service-kit';
import {
  closeMainStreamViewer,
  mainStreamViewerTtlMs,
  openMainStreamViewer,
  type Redis,
  renewMainStreamViewer,
  type StreamId,
} from '@fleet/storage';

/** A viewer of live video. */
interface LiveViewer {
  readonly id: StreamId;
  /** `nameCaller` */
  readonly caller: string;
  /** Whether the viewer's URL is of the main stream; undefined without a token. */
  readonly hasMainUrl: boolean | undefined;
}

/** Records which viewers want the main stream of a live channel: the channel stays on it while one is open. */
export class MainStreamViewers {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** Records a viewer until its response is closed. Never fails: without Redis the channel may switch earlier. */
  track({ id, caller, hasMainUrl }: LiveViewer, { response, log }: RequestContext): void {
    if (response.closed) return;
    const viewer = { id, caller, viewer: randomUUID() };
    const warn = (error: unknown): void => log.warn({ err: error }, 'could not record a viewer of the main stream');
    const opening = openMainStreamViewer(this.#redis, viewer, hasMainUrl).catch(warn);
    const renewal = setInterval(
      () => void renewMainStreamViewer(this.#redis, viewer).catch(warn),
      mainStreamViewerTtlMs / 3,
    );
    // More than ten listeners wait for the end of a proxied response; Node.js would warn at each viewer.
    response.setMaxListeners(20);
    response.once('close', () => {
      clearInterval(renewal);
      void opening.then(() => closeMainStreamViewer(this.#redis, viewer)).catch(warn);
    });
  }
}
