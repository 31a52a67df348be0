import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repoRoot } from './paths.ts';
import { describeMovedClash, describeOwnClash } from './port-clash.ts';
import { planPorts } from './ports.ts';

describe('describeOwnClash', () => {
  it('finds no clash among the default ports', () => {
    expect(describeOwnClash(planPorts(0))).toBeUndefined();
  });

  it('names two settings that have the same port, including the passive ports of FTP', () => {
    const ports = planPorts(0);
    expect(describeOwnClash({ ...ports, attachments: ports.video })).toBe(
      'VIDEO_HTTP_PORT and ATTACHMENT_PORT would both be 8081',
    );
    expect(describeOwnClash({ ...ports, redis: 30_042 })).toBe(
      'the port of Redis and FTP_PASV_MIN to FTP_PASV_MAX would both be 30042',
    );
  });
});

describe('describeMovedClash', () => {
  it('finds no clash for multiples of 100 up to 2800, so that all of them can run side by side', () => {
    for (let offset = 100; offset <= 2_800; offset += 100) expect(describeMovedClash(offset)).toBeUndefined();
  });

  it('finds a port that a start without an offset uses for another setting', () => {
    expect(describeMovedClash(2_900)).toBe(
      'the port of the database would be 30017, which is FTP_PASV_MIN to FTP_PASV_MAX of a start without it',
    );
    expect(describeMovedClash(0)).toBeUndefined();
  });

  it.each(['README.md', 'deploy/local/README.md', 'deploy/local/src/ports.ts'])(
    'accepts the examples in %s',
    (file) => {
      const text = readFileSync(join(repoRoot, file), 'utf8');
      const examples = [...text.matchAll(/PORT_OFFSET=(\d+)/g)].map(([, offset]) => Number(offset));
      expect(examples.length).toBeGreaterThan(0);
      for (const offset of examples) expect(describeMovedClash(offset)).toBeUndefined();
    },
  );
});
