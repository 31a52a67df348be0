// The settings of each service, read from its compiled configuration schema, and the processes of npm start.
//   node scripts/service-settings.mjs           prints them as JSON
//   node scripts/service-settings.mjs --check   reads [{ service, env }] from standard input, prints the fault of each

import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { root } from './steps.mjs';

const configModules = {
  'jt808-gateway': 'config.js',
  'jt1078-media': 'config.js',
  'device-api': 'config.js',
  'platform-api': 'assembly/config.js',
  'upload-ftp': 'config.js',
  'webhook-dispatcher': 'config.js',
};

const importBuilt = (...path) => import(pathToFileURL(join(root, ...path)).href);

/** Returns the schema and the loader of each service's settings, by service. */
export async function loadServiceSettings() {
  const entries = Object.entries(configModules).map(async ([service, file]) => {
    const { schema, configSchema, loadConfig } = await importBuilt('services', service, 'dist', file);
    return [service, { schema: schema ?? configSchema, loadConfig }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the processes of npm start with the names of the variables that it sets for each. */
async function loadLocalProcesses() {
  const [{ planPorts }, { readOptions }, { serviceSpecs }, { planServices }] = await Promise.all(
    ['ports', 'options', 'services', 'service-plans'].map((name) =>
      importBuilt('deploy', 'local', 'dist', `${name}.js`),
    ),
  );
  const context = { options: readOptions([], {}), ports: planPorts(0), secrets: {}, urls: {}, logDir: '/' };
  const services = new Map(planServices(context).map(({ name, service }) => [name, service ?? name]));
  return serviceSpecs(context).map(({ name, env }) => ({
    name,
    service: services.get(name),
    variables: Object.keys(env),
  }));
}

/** Returns the fault of each environment; null if the service accepts it. */
async function findFaults(environments) {
  const services = await loadServiceSettings();
  return environments.map(({ service, env }) => {
    try {
      services[service].loadConfig(env);
      return null;
    } catch (error) {
      return error.message;
    }
  });
}

async function main() {
  if (process.argv.includes('--check')) return findFaults(JSON.parse(await text(process.stdin)));
  const settings = Object.entries(await loadServiceSettings()).map(([service, { schema }]) => [service, schema]);
  return { services: Object.fromEntries(settings), processes: await loadLocalProcesses() };
}

if (pathToFileURL(process.argv[1]).href === import.meta.url) console.log(JSON.stringify(await main()));
