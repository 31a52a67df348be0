import type { Download } from '../downloads/download.ts';

/** The end of an upload stays in the tray for this long. */
const recentMs = 60 * 60_000;

/** Returns whether an upload or its conversion runs. */
export const isActive = ({ status, mp4 }: Pick<Download, 'status' | 'mp4'>): boolean =>
  status === 'uploading' || status === 'paused' || mp4?.status === 'queued' || mp4?.status === 'running';

/** Returns whether an upload belongs into the tray: it runs, or has ended within the last hour. */
export const isRecent = (download: Pick<Download, 'status' | 'mp4' | 'updated_at'>, nowMs: number): boolean =>
  isActive(download) || nowMs - Date.parse(download.updated_at) < recentMs;
