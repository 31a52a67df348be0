import { TcpIngest, type TcpIngestOptions } from './tcp-ingest.ts';
import { UdpIngest, type UdpIngestOptions } from './udp-ingest.ts';

/** One ingest port: TCP and UDP on the same number. */
interface IngestPort {
  readonly port: number;
  check(nowMs: number): void;
  /** Stops to accept TCP connections; open ones continue. */
  refuse(): void;
  stop(): Promise<void>;
}

/** A port that is free for TCP may be in use for UDP. */
const maxPortAttempts = 10;

/** Listens on both transports. Port 0 selects one that is free for both. */
export async function openIngestPort(
  options: TcpIngestOptions & UdpIngestOptions & { readonly host: string; readonly port: number },
): Promise<IngestPort> {
  for (let attempt = 1; ; attempt += 1) {
    const tcp = new TcpIngest(options);
    const udp = new UdpIngest(options);
    const port = await tcp.listen(options.port, options.host);
    try {
      await udp.listen(port, options.host);
    } catch (error) {
      await tcp.stop();
      if (options.port !== 0 || attempt === maxPortAttempts) throw error;
      continue;
    }
    return {
      port,
      check: (nowMs) => {
        tcp.check(nowMs);
        udp.check(nowMs);
      },
      refuse: () => tcp.refuse(),
      stop: async () => {
        await Promise.all([tcp.stop(), udp.stop()]);
      },
    };
  }
}
