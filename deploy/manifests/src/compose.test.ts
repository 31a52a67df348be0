import { beforeAll, describe, expect, it } from '@jest/globals';
import { type ComposeService, interpolate, readComposeFile } from './compose-file.ts';
import { readImageEnvironment } from './image-environment.ts';
import { findConfigFaults, readServiceSettings } from './service-settings.ts';

/** What an operator puts into deploy/.env. */
const operatorVariables = {
  PUBLIC_HOST: 'fleet.example',
  OWNER_EMAIL: 'owner@fleet.example',
  OWNER_PASSWORD: 'correct horse battery',
  OWNER_API_KEY: `fk_${'a'.repeat(43)}`,
  GATEWAY_AUTH_SECRET: 'g'.repeat(64),
  MEDIA_SIGNING_SECRET: 'm'.repeat(64),
  CLIPS_SIGNING_SECRET: 'c'.repeat(64),
  STREAM_TOKEN_SECRET: 's'.repeat(64),
  ENCRYPTION_KEY: 'e'.repeat(64),
};

/** Variables that only npm start needs. */
const localOnly = new Set([
  // The directory of the checkout, its demo data, and the address of the machine.
  'NODE_ENV',
  'NODE_COMPILE_CACHE',
  'HOST',
  'ADMIN_HOST',
  'ROAD_NETWORK_FILE',
  'TOLL_GATES_FILE',
  'BOOTSTRAP_DEMO_TERMINALS',
  'DEMO_MENU',
]);

/** Variables of one machine with real backends, which npm start leaves at their defaults. */
const composeOnly = new Set(['NATS_URL', 'REDIS_URL', 'MONGODB_URL', 'TRUST_PROXY', 'DRAIN_SPREAD_MS']);

let containers: Readonly<Record<string, ComposeService>>;
let settings: ReturnType<typeof readServiceSettings>;
beforeAll(() => {
  containers = readComposeFile();
  settings = readServiceSettings();
});

/** Returns the containers of services, without the backends and the proxy. */
const findProcesses = () =>
  Object.entries(containers).flatMap(([name, container]) => {
    const service = container.build?.args.SERVICE ?? 'local';
    return service === 'local' ? [] : [{ name, service, container, variables: container.environment ?? {} }];
  });

describe('compose.yaml', () => {
  it('runs the processes of npm start', () => {
    const ours = findProcesses().map(({ name, service }) => `${name}: ${service}`);
    expect(ours.toSorted()).toEqual(settings.processes.map(({ name, service }) => `${name}: ${service}`).toSorted());
  });

  it('sets only variables that the service has', () => {
    const unknown = findProcesses().flatMap(({ name, service, variables }) =>
      Object.keys(variables).flatMap((variable) =>
        Object.hasOwn(settings.services[service] ?? {}, variable) ? [] : [`${name}: ${variable}`],
      ),
    );
    expect(unknown).toEqual([]);
  });

  it('sets the variables that npm start sets, and no further ones, apart from known differences', () => {
    const differences = findProcesses().flatMap(({ name, variables }) => {
      const local = settings.processes.find((process) => process.name === name)?.variables ?? [];
      const missing = local.filter((variable) => !Object.hasOwn(variables, variable) && !localOnly.has(variable));
      const further = Object.keys(variables).filter(
        (variable) => !local.includes(variable) && !composeOnly.has(variable),
      );
      return [
        ...missing.map((variable) => `${name} lacks ${variable}`),
        ...further.map((variable) => `${name} sets ${variable}`),
      ];
    });
    expect(differences).toEqual([]);
  });

  it('gives every service settings that it accepts in production', () => {
    const image = readImageEnvironment();
    const environments = findProcesses().map(({ service, variables }) => {
      const values = Object.entries(variables).map(([name, value]) => [name, interpolate(value, operatorVariables)]);
      return { service, env: { ...image, ...Object.fromEntries(values) } };
    });
    expect(findConfigFaults(environments)).toEqual(environments.map(() => null));
    expect(image).toMatchObject({ NODE_ENV: 'production', HOST: '0.0.0.0' });
  });

  it('contains no secret', () => {
    const written = findProcesses().flatMap(({ name, service, variables }) =>
      Object.entries(variables).flatMap(([variable, value]) => {
        const isSecret = settings.services[service]?.[variable]?.secret === true;
        return isSecret && !/^\$\{\w+:(\?[^}]+|-)\}$/.test(String(value)) ? [`${name}: ${variable}`] : [];
      }),
    );
    expect(written).toEqual([]);
  });

  it('trusts the addresses of the reverse proxy only', () => {
    const networks = containers['reverse-proxy']?.networks as Record<string, { ipv4_address?: string }>;
    const address = networks['fleet']?.ipv4_address;
    const trusting = findProcesses().filter(({ service }) => settings.services[service]?.['TRUST_PROXY'] !== undefined);
    expect(address).toBeDefined();
    expect(trusting.map(({ variables }) => variables['TRUST_PROXY'])).toEqual(trusting.map(() => address));
    expect(trusting).toHaveLength(3);
  });

  it('publishes the ports of terminals and the proxy only', () => {
    const published = Object.entries(containers).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    );
    expect(published.map((port) => port.replace(/^(\S+ \S+?):.*?(\/udp)?$/, '$1$2'))).toEqual([
      'jt808-gateway 7808',
      ...[7078, 7079, 7090].flatMap((port) => [`jt1078-media ${port}`, `jt1078-media ${port}/udp`]),
      'upload-ftp 2121',
      'upload-ftp 30000-30099',
      'upload-ftp 7077',
      'reverse-proxy 8080',
      'reverse-proxy 8081',
    ]);
  });

  it('runs every process with a read-only root, without capabilities, and with a health check', () => {
    for (const { read_only, cap_drop, healthcheck } of findProcesses().map(({ container }) => container)) {
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] });
      expect(healthcheck).toBeDefined();
    }
  });

  it('starts every process once its backends are healthy', () => {
    for (const { container } of findProcesses())
      expect(container.depends_on).toEqual(
        Object.fromEntries(['nats', 'redis', 'mongodb'].map((name) => [name, { condition: 'service_healthy' }])),
      );
  });
});
