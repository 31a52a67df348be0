import { parseArgs } from 'node:util';
import type { Runtime } from '../runtime-file.ts';
import { StartError } from '../start-error.ts';

/** A TCP port that terminals or partners use. */
export interface PortTarget {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** What the doctor checks. */
export interface DoctorOptions {
  readonly baseUrl: string;
  readonly videoUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly email: string | undefined;
  readonly password: string | undefined;
  /** The gateway comes first: the simulated terminal connects to it. */
  readonly ports: readonly PortTarget[];
  readonly stores: Readonly<Partial<Record<'nats' | 'redis' | 'mongodb', string>>>;
  /** Admin port of platform-api, which states the migrations. */
  readonly adminUrl: string | undefined;
  readonly webhookUrl: string | undefined;
  /** Folder whose disk is checked; absent for an installation on other machines. */
  readonly dataDir: string | undefined;
  readonly isJson: boolean;
  readonly hasTerminal: boolean;
}

const usage = `Usage: npm run doctor -- [options]. Without options it checks the product that npm start runs. Each option can be a
variable instead, such as DOCTOR_BASE_URL.
  --base-url URL      API and dashboard        --email, --password, --api-key   an owner, for the simulated terminal
  --video-url URL     video service            --nats-url, --redis-url, --mongodb-url   where reachable
  --gateway HOST:PORT, --media HOST:PORT, --ftp HOST:PORT, --attachments HOST:PORT
  --admin-url URL     admin port of platform-api, for the migrations, such as one that kubectl port-forward opens
  --webhook-url URL   receives a test event    --without-terminal, --json, --help`;

const textOptions = [
  'base-url',
  'video-url',
  'api-key',
  'email',
  'password',
  'gateway',
  'media',
  'ftp',
  'attachments',
  'nats-url',
  'redis-url',
  'mongodb-url',
  'admin-url',
  'webhook-url',
] as const;
type TextOption = (typeof textOptions)[number];

function parse(args: readonly string[]) {
  const texts = Object.fromEntries(textOptions.map((name) => [name, { type: 'string' as const }]));
  const flags = {
    json: { type: 'boolean' },
    'without-terminal': { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...args], options: { ...texts, ...flags } }).values;
  } catch (error) {
    throw new StartError(`${(error as Error).message}\n${usage}`);
  }
}

function parsePort(name: string, text: string | undefined): PortTarget[] {
  if (text === undefined) return [];
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === '') throw new StartError(`${name} is ${text}: give a host and a port, such as media.example:7078.`);
  return [{ name, host, port: Number(port) }];
}

const localPorts = ({ jt808, jt1078, ftp, attachments }: Runtime): PortTarget[] => [
  { name: 'gateway', ...jt808 },
  { name: 'media', host: jt1078.host, port: jt1078.live_port },
  { name: 'media history', host: jt1078.host, port: jt1078.history_port },
  { name: 'media talk', host: jt1078.host, port: jt1078.talk_port },
  { name: 'ftp', ...ftp },
  { name: 'attachments', ...attachments },
];

/**
 * Reads the command line and the environment. `runtime` describes the product that npm start runs, whose addresses are
 * the defaults.
 */
export function readDoctorOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  runtime: Runtime | undefined,
): DoctorOptions {
  const values = parse(args);
  if (values.help === true) throw new StartError(usage);
  const read = (name: TextOption): string | undefined => {
    const given = (values as Readonly<Record<string, unknown>>)[name];
    return typeof given === 'string' ? given : env[`DOCTOR_${name.toUpperCase().replaceAll('-', '_')}`] || undefined;
  };
  const baseUrl = read('base-url') ?? runtime?.base_url;
  if (baseUrl === undefined) throw new StartError(`No product runs here, and there is no --base-url.\n${usage}`);
  // Another installation has nothing in common with the product on this machine.
  const local = read('base-url') === undefined ? runtime : undefined;
  const given = (['gateway', 'media', 'ftp', 'attachments'] as const).flatMap((name) => parsePort(name, read(name)));
  const ports =
    local === undefined
      ? given
      : [...given, ...localPorts(local).filter(({ name }) => read(name as TextOption) === undefined)];
  return {
    baseUrl: baseUrl.replace(/\/$/, ''),
    videoUrl: read('video-url') ?? local?.video_url,
    apiKey: read('api-key') ?? local?.demo.api_key,
    email: read('email') ?? local?.demo.email,
    password: read('password') ?? local?.demo.password,
    ports,
    stores: {
      ...toStore('nats', read('nats-url') ?? local?.backends.nats_url),
      ...toStore('redis', read('redis-url') ?? local?.backends.redis_url),
      ...toStore('mongodb', read('mongodb-url') ?? local?.backends.mongodb_url),
    },
    adminUrl: (read('admin-url') ?? local?.health['platform-api'])?.replace(/\/$/, ''),
    webhookUrl: read('webhook-url'),
    dataDir: local?.data_dir,
    isJson: values.json === true,
    hasTerminal: values['without-terminal'] !== true,
  };
}

const toStore = (name: string, url: string | undefined): object => (url === undefined ? {} : { [name]: url });
