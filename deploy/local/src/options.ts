import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { repoRoot } from './paths.ts';
import { describeMovedClash, describeOwnClash } from './port-clash.ts';
import { blockedHttpPort, hitsBlockedPort, maxPortOffset, planPorts } from './ports.ts';
import { StartError } from './start-error.ts';

export interface LaunchOptions {
  dataDir: string;
  cacheDir: string;
  /** Address on which the ports for terminals and partners listen. */
  host: string;
  portOffset: number;
  simulator: boolean;
  /** Stops when stdin closes, for programs that start the product and may be killed. */
  stopWithStdin: boolean;
  env: NodeJS.ProcessEnv;
}

const usage = 'Usage: npm start -- [--no-simulator]; settings: PORT_OFFSET, HOST, DATA_DIR and those of the services.';

function parsePortOffset(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  const offset = Number(text);
  if (!Number.isInteger(offset) || offset < 0)
    throw new StartError(`PORT_OFFSET is ${text}: give a whole number from 0 to ${maxPortOffset}.`);
  if (offset > maxPortOffset)
    throw new StartError(
      `PORT_OFFSET is ${text}: FTP_PASV_MAX would be ${planPorts(offset).ftpPasvMax}, and ports end at 65535. Give a whole number from 0 to ${maxPortOffset}.`,
    );
  if (hitsBlockedPort(offset))
    throw new StartError(`PORT_OFFSET is ${text}: browsers refuse port ${blockedHttpPort}, so choose another one.`);
  const clash = describeOwnClash(planPorts(offset)) ?? describeMovedClash(offset);
  if (clash !== undefined) throw new StartError(`PORT_OFFSET is ${text}: ${clash}. Choose another one, such as 100.`);
  return offset;
}

function parseHost(text: string | undefined): string {
  if (text === undefined || text === '' || text === 'localhost') return '127.0.0.1';
  if (isIP(text) !== 0) return text;
  throw new StartError(`HOST is ${text}: give an IP address of this machine, or 0.0.0.0 for all of them.`);
}

/** Reads the command line and the environment of a start. */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv): LaunchOptions {
  const unknown = args.find((arg) => !['--no-simulator', '--stop-with-stdin'].includes(arg));
  if (unknown !== undefined) throw new StartError(`${unknown} is not an option. ${usage}`);
  const dataDir = env['DATA_DIR'] ?? '';
  return {
    dataDir: resolve(repoRoot, dataDir === '' ? '.data' : dataDir),
    cacheDir: resolve(repoRoot, '.cache'),
    host: parseHost(env['HOST']),
    portOffset: parsePortOffset(env['PORT_OFFSET']),
    simulator: !args.includes('--no-simulator'),
    stopWithStdin: args.includes('--stop-with-stdin'),
    env,
  };
}
