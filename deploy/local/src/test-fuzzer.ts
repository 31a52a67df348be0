import { join } from 'node:path';
import { repoRoot } from './paths.ts';
import type { Progress } from './progress.ts';
import { type InstalledPackages, preparePythonPackages } from './python-packages.ts';

/** The pinned packages of schemathesis. */
export const requirementsFile = join(repoRoot, 'test-e2e', 'contract-fuzz', 'requirements.txt');

/**
 * Returns schemathesis for the end-to-end tests: from the cache or from PyPI. It runs as `PYTHONPATH=<home> <python> -m
 * schemathesis.cli`.
 */
export const prepareFuzzer = (progress: Progress): Promise<InstalledPackages> =>
  preparePythonPackages(
    {
      name: 'schemathesis',
      title: 'Installing the contract fuzzer (PyPI package schemathesis)',
      requiredBy: 'The contract fuzzer (schemathesis)',
      requirementsFile,
    },
    progress,
  );
