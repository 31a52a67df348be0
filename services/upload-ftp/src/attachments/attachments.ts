import { type Bus, expectAttachments, serveUseCase } from '@fleet/bus';
import {
  AppError,
  type ConfigOf,
  type Lifecycle,
  type Logger,
  parseProxyNetworks,
  type proxyProtocolSettings,
  type Registry,
  retryUntilSuccess,
  runPeriodically,
} from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import type { MediaFiles } from '../media/media-files.ts';
import type { DiskHealth } from '../store/disk-health.ts';
import { Alarms } from './alarms.ts';
import { AttachmentServer } from './attachment-server.ts';
import { ExpectedAttachments } from './expected-attachments.ts';
import { createAttachmentMetrics } from './metrics.ts';
import type { attachmentSettings } from './settings.ts';

type Settings = ConfigOf<typeof attachmentSettings & typeof proxyProtocolSettings> & {
  readonly HOST: string;
  readonly FTP_PUBLIC_HOST: string;
};

interface AttachmentDeps {
  readonly config: Settings;
  readonly bus: Bus;
  readonly database: Database;
  readonly media: MediaFiles;
  readonly disk: DiskHealth;
  readonly metrics: Registry;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
}

export interface RunningAttachments {
  readonly port: number;
  isListening(): boolean;
}

/** Starts the server that receives attachments of alarms, and returns its address to requests over the bus. */
export async function startAttachments(deps: AttachmentDeps): Promise<RunningAttachments> {
  const { config, bus, database, media, disk, lifecycle, log } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'attachment task failed, retrying');
  const metrics = createAttachmentMetrics(deps.metrics);
  const expectedAttachments = new ExpectedAttachments(database);
  const alarms = new Alarms({ media, expectedAttachments, log, limits: toAlarmLimits(config) });
  metrics.observe('open_files', () => alarms.openFiles);
  const server = new AttachmentServer({
    host: config.HOST,
    port: config.ATTACHMENT_PORT,
    proxyNetworks: parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS),
    maxConnections: config.ATTACHMENT_MAX_CONNECTIONS,
    maxConnectionsPerAddress: config.ATTACHMENT_CONNECTIONS_PER_ADDRESS,
    loginTimeoutMs: config.ATTACHMENT_LOGIN_TIMEOUT_MS,
    idleTimeoutMs: config.ATTACHMENT_IDLE_MS,
    maxPacketBytes: config.ATTACHMENT_MAX_FILE_BYTES,
    alarms,
    findExpectation: (alarmNo) => expectedAttachments.find(alarmNo),
    findStorageError: () => disk.findError(),
    metrics,
    log,
  });
  await server.start();
  lifecycle.onStop('attachment indexes', retryUntilSuccess(() => expectedAttachments.ensureIndexes(), onError).stop);
  lifecycle.onStop('attachments', async () => {
    await server.stop();
    await alarms.stop();
  });
  const sweep = async (): Promise<void> => {
    await alarms.sweep();
    await expectedAttachments.deleteExpired();
  };
  lifecycle.onStop('attachment sweep', runPeriodically(config.ATTACHMENT_SWEEP_MS, sweep, onError));
  lifecycle.onStop('attachments in transfer', () => server.drain(config.ATTACHMENT_STOP_GRACE_MS));
  // Registered last and so stopped first: no request is accepted while the server drains.
  serve(bus, { expectedAttachments, config, disk, lifecycle, onError, port: () => server.port });
  return { port: server.port, isListening: () => server.isListening };
}

const toAlarmLimits = (config: Settings) => ({
  maxFiles: config.ATTACHMENT_MAX_FILES,
  maxFileBytes: config.ATTACHMENT_MAX_FILE_BYTES,
  maxAlarmBytes: config.ATTACHMENT_MAX_ALARM_BYTES,
  maxOpenFiles: config.ATTACHMENT_MAX_OPEN_FILES,
  resumeMs: config.ATTACHMENT_RESUME_MS,
});

function serve(
  bus: Bus,
  deps: Pick<AttachmentDeps, 'config' | 'disk' | 'lifecycle'> & {
    readonly expectedAttachments: ExpectedAttachments;
    readonly onError: (error: unknown) => void;
    readonly port: () => number;
  },
): void {
  const { config, disk, expectedAttachments: expectations, onError, port } = deps;
  const requests = serveUseCase(bus, expectAttachments, { queue: 'upload-ftp', onError }, async (request) => {
    const storageError = await disk.findError();
    if (storageError !== null) throw new AppError('unavailable', storageError);
    const { alarmNo, lifetimeMs, ...alarm } = request;
    await expectations.expect({ _id: alarmNo, ...alarm, expiresAtMs: Date.now() + lifetimeMs });
    return {
      host: config.ATTACHMENT_PUBLIC_HOST ?? config.FTP_PUBLIC_HOST,
      tcpPort: config.ATTACHMENT_PUBLIC_PORT ?? port(),
    };
  });
  deps.lifecycle.onStop('attachment requests', () => requests.stop());
}
