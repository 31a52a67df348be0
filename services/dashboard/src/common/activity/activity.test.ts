import { describe, expect, it } from '@jest/globals';
import { type Command, maxCommands, putCommand } from './activity-store.ts';
import { isActive, isRecent } from './recent-downloads.ts';

const command = (id: number, version = 1, status: Command['status'] = 'queued'): Command =>
  ({ command_id: String(id), version, status }) as Command;

describe('the commands of the activity tray', () => {
  it('stand in front when they are new, and change where they are', () => {
    const first = putCommand(putCommand([], command(1)), command(2));
    expect(first.map(({ command_id: id }) => id)).toEqual(['2', '1']);
    const changed = putCommand(first, command(1, 2, 'acknowledged'));
    expect(changed.map(({ status }) => status)).toEqual(['queued', 'acknowledged']);
  });

  it('keep the newer version when an older response arrives late', () => {
    const commands = putCommand([], command(1, 3, 'acknowledged'));
    expect(putCommand(commands, command(1, 2, 'sent'))).toEqual(commands);
  });

  it('are limited in number', () => {
    const commands = Array.from({ length: maxCommands + 5 }, (_, at) => command(at)).reduce(putCommand, []);
    expect(commands).toHaveLength(maxCommands);
    expect(commands[0]?.command_id).toBe(String(maxCommands + 4));
  });
});

describe('the uploads of the activity tray', () => {
  const nowMs = Date.parse('2026-01-22T12:00:00Z');
  const upload = (status: string, updatedAt: string, mp4: string | null = null) =>
    ({ status, updated_at: updatedAt, mp4: mp4 === null ? null : { status: mp4 } }) as Parameters<typeof isRecent>[0];

  it('are those that run or are converted, however old', () => {
    const old = '2026-01-01T00:00:00Z';
    const uploads = [
      upload('uploading', old),
      upload('paused', old),
      upload('completed', old, 'running'),
      upload('completed', old),
    ];
    expect(uploads.map(isActive)).toEqual([true, true, true, false]);
    expect(uploads.map((each) => isRecent(each, nowMs))).toEqual([true, true, true, false]);
  });

  it('stay for an hour after their end', () => {
    expect(isRecent(upload('failed', '2026-01-22T11:30:00Z'), nowMs)).toBe(true);
    expect(isRecent(upload('failed', '2026-01-22T10:30:00Z'), nowMs)).toBe(false);
  });
});
