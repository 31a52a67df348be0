export { BackupError } from './backup-error.ts';
export { parseCommand, readAddresses, runCommand } from './command.ts';
