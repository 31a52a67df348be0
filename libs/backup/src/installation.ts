import type { Bus } from '@fleet/bus';
import type { Database, Redis } from '@fleet/storage';

/** The stores of one installation. */
export interface Installation {
  readonly bus: Bus;
  readonly database: Database;
  readonly redis: Redis;
  /** CLIPS_DIR of upload-ftp; absent where volumes or a bucket are backed up in another way. */
  readonly clipsDir?: string | undefined;
  /** Replicas of restored streams. */
  readonly replicas: number;
}

/** Receives one line for each step. */
export type Report = (line: string) => void;
