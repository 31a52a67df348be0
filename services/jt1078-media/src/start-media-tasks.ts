import type { Logger } from '@fleet/service-kit';
import type { Config } from './config.ts';
import type { MediaDeps, Streams } from './create-streams.ts';
import { startPeriodicTask } from './periodic-task.ts';
import { resumeMovedStreams } from './use-cases/resume-moved-streams.ts';
import { endOrphanedStreams, stopTimedOutStreams } from './use-cases/stop-stale-streams.ts';

const timerIntervalMs = 250;
const claimRenewalIntervalMs = 3_000;
const streamTypeIntervalMs = 1_000;
const playbackIntervalMs = 1_000;
const staleStreamIntervalMs = 1_500;
const movedStreamIntervalMs = 250;

/** A part with timeouts of its own. */
interface Timed {
  check(nowMs: number): void;
}

/** Returns a function that logs the error of a task. */
export const reportTaskError =
  (log: Logger) =>
  (error: unknown): void =>
    log.error({ err: error }, 'periodic task failed');

/** Starts the tasks that run until the service stops. */
export function startMediaTasks(config: Config, deps: MediaDeps, streams: Streams, timed: readonly Timed[]): void {
  const { registry, claims, eventPublisher, playbackPublisher, streamSwitch, usageReporter } = streams;
  const onError = reportTaskError(deps.log);
  for (const [name, intervalMs, task] of [
    ['timers', timerIntervalMs, () => checkTimers(timed)],
    ['stream events', timerIntervalMs, () => eventPublisher.publishChanges(registry.streams)],
    ['playback progress', playbackIntervalMs, () => playbackPublisher.publishAll(registry.streams)],
    ['received bytes', config.MEDIA_USAGE_REPORT_MS, () => usageReporter.report(registry.streams)],
    ['stream types', streamTypeIntervalMs, () => streamSwitch.check()],
    ['claims', claimRenewalIntervalMs, () => registry.renewClaims()],
    ['overdue requests', staleStreamIntervalMs, () => stopTimedOutStreams(deps, claims, eventPublisher)],
    ['moved streams', movedStreamIntervalMs, () => takeMovedStreams(deps, streams)],
    ['orphaned streams', staleStreamIntervalMs, () => endOrphanedStreams(claims, eventPublisher)],
  ] as const)
    deps.lifecycle.onStop(name, startPeriodicTask(intervalMs, task, onError));
  // After an outage the claims may expire before the next renewal, and their streams would seem to have ended.
  const renew = (): void => void registry.renewClaims().catch(onError);
  deps.redis.on('ready', renew);
  deps.lifecycle.onStop('claims after an outage', () => void deps.redis.off('ready', renew));
}

async function takeMovedStreams(deps: MediaDeps, { claims, eventPublisher }: Streams): Promise<void> {
  if (!deps.lifecycle.isStopping) await resumeMovedStreams(deps, claims, eventPublisher);
}

function checkTimers(parts: readonly Timed[]): void {
  const nowMs = performance.now();
  for (const part of parts) part.check(nowMs);
}
