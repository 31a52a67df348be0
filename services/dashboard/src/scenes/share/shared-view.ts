import type { components } from '@fleet/api-client';

/** What a share link shows. */
export type SharedView = components['schemas']['SharedView'];
export type SharedStream = components['schemas']['SharedStream'];

/** A change of a camera's stream. */
export type StreamChange = Pick<SharedStream, 'channel_id' | 'kind' | 'status' | 'reason'>;

/** What parts of the page need to watch a camera of an opened link. */
export interface Guest {
  readonly slug: string;
  /** Returns the ticket of the link, which changes while the page is open. */
  readonly getTicket: () => string;
  /** Calls the listener with changes of the cameras. Returns a function that removes it. */
  readonly subscribeToStreams: (listener: (change: StreamChange) => void) => () => void;
}
