import { extname } from 'node:path';

const mimeTypeByExtension: Readonly<Record<string, string>> = {
  '.mp4': 'video/mp4',
  '.m4v': 'video/mp4',
  '.mov': 'video/quicktime',
  '.flv': 'video/x-flv',
  '.avi': 'video/x-msvideo',
  '.mkv': 'video/x-matroska',
  '.ts': 'video/mp2t',
  '.ps': 'video/mpeg',
  '.mpg': 'video/mpeg',
  '.mpeg': 'video/mpeg',
  '.vob': 'video/mpeg',
  '.264': 'video/h264',
  '.h264': 'video/h264',
  '.avc': 'video/h264',
  '.265': 'video/h265',
  '.h265': 'video/h265',
  '.hevc': 'video/h265',
};

/** Returns the content type of a video's file name; undefined for an unknown one. */
export const videoMimeType = (path: string): string | undefined => mimeTypeByExtension[extname(path).toLowerCase()];
