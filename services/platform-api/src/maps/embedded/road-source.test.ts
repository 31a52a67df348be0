import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { roadsOf } from './road-source.ts';

describe('road file source', () => {
  const file = {
    type: 'LineString',
    coordinates: [
      [20, 10],
      [20.01, 10],
    ],
  };
  const text = JSON.stringify({
    type: 'FeatureCollection',
    features: [{ type: 'Feature', properties: {}, geometry: file }],
  });

  it('retries a missing file later, and reads an existing one once', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'roads-'));
    try {
      const path = join(directory, 'roads.geojson');
      const errors: unknown[] = [];
      const log = { error: (...parts: unknown[]) => void errors.push(parts) };
      const [patient, eager] = [roadsOf(path, log), roadsOf(path, log, 0)];
      expect([(await patient()).isEmpty, (await eager()).isEmpty, errors.length]).toEqual([true, true, 2]);
      await writeFile(path, text);
      expect([(await patient()).isEmpty, (await eager()).isEmpty]).toEqual([true, false]);
      expect(await eager()).toBe(await eager());
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('reads an invalid file again only after it has changed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'roads-'));
    try {
      const path = join(directory, 'roads.geojson');
      await writeFile(path, '{');
      const errors: unknown[] = [];
      const roads = roadsOf(path, { error: (...parts: unknown[]) => void errors.push(parts) }, 0);
      for (let time = 0; time < 3; time += 1) expect((await roads()).isEmpty).toBe(true);
      expect(errors).toHaveLength(1);
      await writeFile(path, '[[');
      expect([(await roads()).isEmpty, errors.length]).toEqual([true, 2]);
      await rm(path);
      expect([(await roads()).isEmpty, errors.length]).toEqual([true, 3]);
      await writeFile(path, text);
      expect((await roads()).isEmpty).toBe(false);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
