// More commands than device-api stores audit entries of, while the stream AUDIT stores nothing.
import { SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { refuseMessages } from './refuse-messages.mjs';

const terminalCount = 20;
const roundsPerPulse = 10;

/** Returns the fault behind the alert AuditEntriesLost. */
export function createAuditFault({ runtime }) {
  const { begin, end } = refuseMessages(runtime.backends.nats_url, 'AUDIT');
  const terminals = Array.from(
    { length: terminalCount },
    (_unused, index) =>
      new SimulatedTerminal({
        ...runtime.jt808,
        phone: `1390000777${String(index).padStart(2, '0')}`,
        channels: 1,
        reportIntervalMs: 0,
      }),
  );
  const send = async ({ phone }) => {
    const path = `/realtime/control-stream?imei=${phone}&channel=9&ctrl_instruction=2`;
    const headers = { 'x-api-key': runtime.demo.api_key };
    await (await fetch(`${runtime.base_url}/api/v1${path}`, { headers })).text();
  };
  const sendRounds = async (terminal) => {
    for (let round = 0; round < roundsPerPulse; round += 1) await send(terminal);
  };
  return {
    begin: async () => {
      for (const terminal of terminals) terminal.start();
      await Promise.all(terminals.map((terminal) => terminal.waitUntilOnline(60_000)));
      await begin();
    },
    pulse: async () => void (await Promise.all(terminals.map(sendRounds))),
    end: async () => {
      await end();
      await Promise.all(terminals.map((terminal) => terminal.stop()));
    },
  };
}
