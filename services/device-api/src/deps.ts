import type { Bus, CommandIdentity, DeviceCommandClient } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import type { Database, Redis, UploadRepository } from '@fleet/storage';
import type { Guard } from './access/guard.ts';
import type { Config } from './config.ts';
import type { SmsProvider } from './providers/sms-provider.ts';
import type { CameraClocks } from './use-cases/camera-clock.ts';

/** What use cases work with. */
export interface Deps {
  readonly config: Config;
  readonly log: Logger;
  readonly bus: Bus;
  readonly redis: Redis;
  readonly database: Database;
  readonly asker: DeviceCommandClient;
  readonly clocks: CameraClocks;
  readonly uploads: UploadRepository;
  readonly guard: Guard;
  /** Sends SMS that wake devices; null where no provider is configured. */
  readonly sms: SmsProvider | null;
  /** Aborted when the service stops and its grace is over: what still waits ends. */
  readonly stopped: AbortSignal;
  /** Aborted when the service begins to stop: open streams end. */
  readonly stopping: AbortSignal;
}

/** Who asked, and until when a device may take to answer. */
export interface CommandContext {
  readonly correlationId: string;
  readonly log: Logger;
  /** Set by a caller that repeats the command after a restart; for use cases that are one command to the terminal. */
  readonly command?: CommandIdentity | undefined;
  /** False where the caller was admitted for a command that is not critical: a critical one is then refused before it is sent. */
  readonly mayBeCritical?: boolean | undefined;
  /** On this process's monotonic clock (`performance.now()`). */
  readonly deadlineAtMs: number;
}
