import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Jest requires that each root exists, also when only end-to-end tests run.
mkdirSync(fileURLToPath(new URL('.cache/unit-groups', import.meta.url)), { recursive: true });

// Tests run on the TypeScript sources: @fleet/* resolves to src, so unit tests need no build.
const shared = {
  // Compiled sources, and the durations by which jest starts the longest files first.
  cacheDirectory: '<rootDir>/.cache/jest',
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: 'node',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  moduleNameMapper: {
    '^@fleet/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^@fleet/([^/]+)/testing$': '<rootDir>/libs/$1/src/testing/index.ts',
    '^@fleet/api-client/request-schemas$': '<rootDir>/libs/api-client/src/request-schemas.ts',
    '^@fleet/service-kit/stream-tokens$': '<rootDir>/libs/service-kit/src/stream-tokens.ts',
    '^@fleet/(service-kit)/([^/]+)$': '<rootDir>/libs/$1/src/http/$2.ts',
  },
  modulePathIgnorePatterns: ['/dist/', '/\\.cache/(?!unit-groups/)', '/\\.data/'],
};

export default {
  // The five seconds of jest are too few on a busy machine. Tests about time assert it themselves.
  testTimeout: 30_000,
  // Two cores: the backends and the system under test need one of them.
  maxWorkers: 2,
  // On a busy machine, a worker without leaks takes longer to exit than the half second of jest.
  workerGracefulExitTimeout: 15_000,
  testSequencer: '<rootDir>/scripts/test-sequencer.mjs',
  projects: [
    {
      ...shared,
      displayName: 'unit',
      roots: ['<rootDir>/libs', '<rootDir>/services', '<rootDir>/deploy'],
      testMatch: ['**/src/**/*.test.ts'],
    },
    {
      // npm test runs these groups instead of the single files (scripts/test-groups.mjs).
      ...shared,
      displayName: 'unit-groups',
      roots: ['<rootDir>/.cache/unit-groups', '<rootDir>/libs', '<rootDir>/services', '<rootDir>/deploy'],
      testMatch: ['<rootDir>/.cache/unit-groups/*.mjs'],
    },
    {
      ...shared,
      displayName: 'e2e',
      roots: ['<rootDir>/test-e2e'],
      testMatch: ['**/src/**/*.test.ts'],
    },
  ],
};
