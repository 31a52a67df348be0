import { DurableConsumer, ensureStreams } from '@fleet/bus';
import { Counter, type Lifecycle, type Registry, retryUntilSuccess } from '@fleet/service-kit';
import type { Deps } from '../platform/deps.ts';
import { ChannelSender } from './channel-sender.ts';
import { createEmailChannel, createPushChannel, createSmsChannel } from './channels.ts';
import type { ProviderClientOptions } from './provider-client.ts';
import { createProviders } from './providers.ts';
import { RecipientResolver } from './recipient-resolver.ts';

/** Replacements for tests. */
export interface NotificationConsumerOptions {
  readonly registry?: Registry;
  readonly client?: ProviderClientOptions;
}

/**
 * Sends notifications by push, SMS and mail. Each channel has its own consumer, `notification-senders-<channel>`, so
 * that a failing provider delays no other channel. All replicas share the work.
 */
export function startNotificationConsumers(
  deps: Deps,
  lifecycle: Lifecycle,
  { registry, client = {} }: NotificationConsumerOptions = {},
): void {
  const { bus, config, log } = deps;
  const resolver = new RecipientResolver(deps);
  const providers = createProviders(config, { log, messages: deps.ownMessages }, client);
  const counter = new Counter({
    name: 'platform_notification_messages_total',
    help: 'messages to users about notifications, by channel and result',
    labelNames: ['channel', 'result'],
    registers: registry === undefined ? [] : [registry],
  });
  const consumers: DurableConsumer[] = [];
  const startup = retryUntilSuccess(
    async () => {
      await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
      for (const channel of [
        createPushChannel(deps, providers, resolver),
        createSmsChannel(deps, providers),
        createEmailChannel(providers),
      ]) {
        const sender = new ChannelSender(deps, channel, resolver, (result) =>
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
    (error) => log.warn({ err: error }, 'could not start the notification consumers yet'),
  );
  lifecycle.onStop('notification consumers', async () => {
    await startup.stop();
    // Messages that wait for a provider are deferred and redelivered elsewhere.
    providers.stop();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  });
}
