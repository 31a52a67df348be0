import { describeDocumentedCommands } from './testing/documented-commands.ts';

describeDocumentedCommands({ document: 'docs/platform-api.md', minSteps: 40, timeoutMs: 150_000 });
