// MongoDB on this machine, for the overlay `prod`, whose database is outside the cluster.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createProgress } from '../../deploy/local/dist/progress.js';
import { prepareMongod } from '../../deploy/local/dist/test-mongod.js';
import { waitUntil } from '../processes.mjs';
import { podGateway } from './node.mjs';
import { mongoPort } from './trial-overlay.mjs';

const { MongoClient } = createRequire(new URL('../../test-e2e/package.json', import.meta.url))('mongodb');

/** Starts a replica set of one server, which pods reach. */
export async function startMongoDb(processes, folder) {
  const program = await prepareMongod(createProgress((text) => process.stdout.write(text)));
  if (program === undefined) throw new Error('There is no MongoDB server for this machine.');
  const dbPath = join(folder, 'mongodb');
  mkdirSync(dbPath);
  const address = `${podGateway}:${mongoPort}`;
  const options = ['--bind_ip', podGateway, '--port', String(mongoPort), '--replSet', 'fleet', '--dbpath', dbPath];
  processes.start('mongodb', program, options);
  const client = new MongoClient(`mongodb://${address}/?directConnection=true`, { serverSelectionTimeoutMS: 1_000 });
  const config = { _id: 'fleet', members: [{ _id: 0, host: address }] };
  await waitUntil('the start of MongoDB', async () => {
    processes.check();
    await client.db('admin').command({ replSetInitiate: config });
    return true;
  });
  await client.close();
}
