import type { Socket } from 'node:net';

/** Sends inline commands to a Redis server, and returns the replies of the protocol. */
export function sendInlineCommands(
  open: (onConnect: () => void) => Socket,
  commands: readonly string[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = open(() => socket.end(`${[...commands, 'QUIT'].join('\r\n')}\r\n`));
    let reply = '';
    socket.setTimeout(5_000, () => socket.destroy(new Error('The Redis server did not respond.')));
    socket.on('data', (data) => {
      reply += data.toString('latin1');
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(reply));
  });
}
