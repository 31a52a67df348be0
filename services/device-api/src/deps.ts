import type { Bus, CommandIdentity, DeviceCommandClient } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import type { StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Database, Redis, UploadRepository } from '@fleet/storage';
import type { Guard } from './access/guard.ts';
import type { MainStreamViewers } from './access/main-stream-viewers.ts';
import type { Config } from './config.ts';
import type { SmsProvider } from './providers/sms-provider.ts';
import type { CameraUtcOffsets } from './use-cases/camera-utc-offsets.ts';
import type { TalkTurns } from './use-cases/talk/talk-turns.ts';

/** Dependencies of the use cases. */
export interface Deps {
  readonly config: Config;
  readonly log: Logger;
  readonly bus: Bus;
  readonly redis: Redis;
  readonly database: Database;
  readonly commandClient: DeviceCommandClient;
  readonly utcOffsets: CameraUtcOffsets;
  readonly uploads: UploadRepository;
  readonly guard: Guard;
  readonly mainStreamViewers: MainStreamViewers;
  readonly streamTokens: StreamTokens;
  readonly talkTurns: TalkTurns;
  /** Sends SMS that wake devices; null without a provider. */
  readonly sms: SmsProvider | null;
  /** Aborted when the shutdown time-out has passed: all remaining waits end. */
  readonly stopped: AbortSignal;
  /** Aborted when the shutdown begins: open streams end. */
  readonly stopping: AbortSignal;
}

/** Origin of a command, and the deadline of the device. */
export interface CommandContext {
  readonly correlationId: string;
  readonly log: Logger;
  /** Set by a caller that retries the command after a restart; for use cases that send one command. */
  readonly command?: CommandIdentity | undefined;
  /** False if the caller was admitted for non-critical commands: a critical one is rejected before it is sent. */
  readonly isCriticalAllowed?: boolean | undefined;
  /** On this process's monotonic clock (`performance.now()`). */
  readonly deadlineAtMs: number;
}
