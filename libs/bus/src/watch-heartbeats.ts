import { ConsumerEvents, type ConsumerMessages } from 'nats';

/**
 * Settings of a consumer that detects the loss of its server. The client would otherwise wait half a minute for the
 * heartbeats of a server that another one has replaced.
 */
export const heartbeatOptions = { expires: 10_000, idle_heartbeat: 2_000 } as const;

/**
 * Stops a consumer after two missed heartbeats: its server was lost, or its leader moved. Its reader creates another
 * one. `isLost` is true once heartbeats were missed.
 */
export function watchHeartbeats(messages: ConsumerMessages): { readonly isLost: boolean } {
  const watch = { isLost: false };
  void (async () => {
    for await (const { type } of await messages.status()) {
      if (type !== ConsumerEvents.HeartbeatsMissed) continue;
      watch.isLost = true;
      messages.stop();
    }
  })();
  return watch;
}
