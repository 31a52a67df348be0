import type { Download } from '../../common/downloads/download.ts';

export const mediaKinds = ['clips', 'pictures', 'videos'] as const;
type MediaKind = (typeof mediaKinds)[number];
export const downloadStatuses: readonly Download['status'][] = [
  'uploading',
  'paused',
  'completed',
  'failed',
  'cancelled',
];

/** State of the media page in its address. Defaults are left out. */
export interface MediaSearch {
  readonly kind?: MediaKind;
  readonly vehicle?: number;
  readonly status?: Download['status'];
  readonly page?: number;
}

const readId = (value: unknown): number | undefined =>
  Number.isInteger(value) && (value as number) > 0 ? (value as number) : undefined;

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseMediaSearch(search: Record<string, unknown>): MediaSearch {
  const { kind, status } = search;
  const [vehicle, page] = [readId(search['vehicle']), readId(search['page'])];
  return {
    ...(mediaKinds.includes(kind as MediaKind) && kind !== 'clips' ? { kind: kind as MediaKind } : {}),
    ...(vehicle === undefined ? {} : { vehicle }),
    ...(downloadStatuses.includes(status as Download['status']) ? { status: status as Download['status'] } : {}),
    ...(page === undefined || page === 1 ? {} : { page }),
  };
}
