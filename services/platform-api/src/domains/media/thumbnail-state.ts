import type { Media } from './schema.ts';

type PreviewState = Pick<Media, 'preview' | 'previewDueAt' | 'isPreviewRunning'>;

/** Returns whether a file has a thumbnail, or may get one: a request for it creates it. */
export const hasThumbnail = ({ preview, previewDueAt }: PreviewState): boolean =>
  (preview ?? null) !== null || (previewDueAt ?? null) !== null;

/** Returns whether a process creates the preview at the moment. */
export const isPreviewRunning = ({ previewDueAt, isPreviewRunning: isRunning }: PreviewState, now: Date): boolean =>
  isRunning === true && (previewDueAt ?? now) > now;
