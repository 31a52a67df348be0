import type { components } from '@fleet/api-client';

export type Capture = components['schemas']['Capture'];

/** What a picture or a clip was requested with. */
export interface CaptureRequest {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly kind: Capture['kind'];
  /** Length of a clip; null for a picture. */
  readonly seconds: number | null;
}

/** A request of this tab, which the activity tray keeps. */
export interface CaptureEntry extends CaptureRequest {
  /** Identifies the entry in this tab. */
  readonly key: string;
  readonly requestedAtMs: number;
  /** Null if the server refused the request. */
  readonly captureId: string | null;
  /** Why the server refused the request; null if it did not. */
  readonly refusal: string | null;
}

type CaptureState = 'pending' | 'completed' | 'failed';

/** Entries that the tray shows, the newest first. */
export const maxEntries = 20;

/** Returns the state of an entry with the newest record of its capture. */
export function stateOf(
  { refusal }: Pick<CaptureEntry, 'refusal'>,
  capture: Pick<Capture, 'status'> | null | undefined,
) {
  if (refusal !== null || capture === null) return 'failed' satisfies CaptureState;
  const status = capture?.status ?? 'pending';
  return (status === 'expired' ? 'failed' : status) satisfies CaptureState;
}

/** Returns the entries with a new one in front, which replaces one of the same key. */
export const addEntry = (entries: readonly CaptureEntry[], entry: CaptureEntry): readonly CaptureEntry[] =>
  [entry, ...entries.filter(({ key }) => key !== entry.key)].slice(0, maxEntries);
