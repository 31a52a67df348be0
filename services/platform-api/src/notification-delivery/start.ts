import { DurableConsumer, ensureStreams } from '@fleet/bus';
import { Counter, type Lifecycle, type Registry, retryUntilSuccess } from '@fleet/service-kit';
import type { Deps } from '../platform/deps.ts';
import { Audience } from './audience.ts';
import { ChannelSender } from './channel-sender.ts';
import { emailChannel, pushChannel, smsChannel } from './channels.ts';
import { providersOf } from './providers.ts';
import type { LineOptions } from './sending.ts';

/** Replacements for tests. */
export interface SenderOptions {
  readonly registry?: Registry;
  readonly line?: LineOptions;
}

/**
 * Sends notifications by push, SMS and mail. Each channel has its own consumer, `notification-senders-<channel>`, so
 * that a failing provider delays no other channel. All replicas share the work.
 */
export function startSenders(deps: Deps, lifecycle: Lifecycle, { registry, line = {} }: SenderOptions = {}): void {
  const { bus, config, log } = deps;
  const audience = new Audience(deps);
  const providers = providersOf(config, { log, messages: deps.ownMessages }, line);
  const counter = new Counter({
    name: 'platform_notification_messages_total',
    help: 'messages to users about notifications, by channel and result',
    labelNames: ['channel', 'result'],
    registers: registry === undefined ? [] : [registry],
  });
  const consumers: DurableConsumer[] = [];
  const begun = retryUntilSuccess(
    async () => {
      await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
      for (const channel of [
        pushChannel(deps, providers, audience),
        smsChannel(deps, providers),
        emailChannel(providers),
      ]) {
        const sender = new ChannelSender(deps, channel, audience, (result) =>
          counter.inc({ channel: channel.name, result }),
        );
        consumers.push(
          new DurableConsumer(bus, {
            stream: 'NOTIFICATIONS',
            durable: `notification-senders-${channel.name}`,
            subject: 'notification.*.*',
            handler: (message) => sender.handle(message),
            onError: (error) => log.error({ err: error, channel: channel.name }, 'could not send a notification'),
            maxInFlight: 256,
          }),
        );
      }
    },
    (error) => log.warn({ err: error }, 'could not start the notification senders yet'),
  );
  lifecycle.onStop('senders', async () => {
    await begun.stop();
    // Messages that wait for a provider are deferred and redelivered elsewhere.
    providers.stop();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  });
}
