import { Badge, Button, Code, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Age } from '../../../common/ui/age.tsx';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import type { Command } from './command-fields.ts';
import { useCancelCommand, useCommands } from './use-commands.ts';

const pageSize = 20;
const maxCommands = 200;

/** Shows the newest commands with their results, updated by the `command` event. */
export function CommandList({ vehicleId }: { vehicleId: number }) {
  const { t } = useTranslation('vehicle');
  const [limit, setLimit] = useState(pageSize);
  const query = useCommands(vehicleId, limit);
  const cancel = useCancelCommand(vehicleId);
  return (
    <section className="card" aria-label={t('commands.title')}>
      <h2>{t('commands.title')}</h2>
      {cancel.isError ? <Failure error={cancel.error} /> : null}
      {query.isPending ? <Loading /> : null}
      {query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : null}
      {query.data?.total === 0 ? <Empty title={t('commands.empty')} /> : null}
      <ul className="row-list">
        {query.data?.commands.map((command) => (
          <CommandRow key={command.command_id} command={command} onCancel={() => cancel.mutate(command)} />
        ))}
      </ul>
      {query.data !== undefined && query.data.total > limit && limit < maxCommands ? (
        <Button variant="default" size="xs" onClick={() => setLimit(Math.min(maxCommands, limit + pageSize))}>
          {t('commands.more')}
        </Button>
      ) : null}
    </section>
  );
}

function CommandRow({ command, onCancel }: { command: Command; onCancel: () => void }) {
  const { t } = useTranslation('vehicle');
  return (
    <li>
      <Stack gap={2} w="100%">
        <Group gap="sm">
          <strong>{t(`command.${command.type}`)}</strong>
          <Badge variant={command.status === 'failed' ? 'filled' : 'default'} color="critical">
            {t(`status.${command.status}`)}
          </Badge>
          <span>
            <CommandResult command={command} />
          </span>
          <small>
            <Age timeMs={Date.parse(command.created_at)} />
            {command.created_by_name == null ? null : `, ${command.created_by_name}`}
          </small>
          {command.status === 'queued' ? (
            <Button size="compact-xs" variant="default" onClick={onCancel}>
              {t('common:action.cancel')}
            </Button>
          ) : null}
        </Group>
        <details>
          <summary>{t('commands.details')}</summary>
          <Code block>{JSON.stringify({ params: command.params, response: command.answer }, null, 2)}</Code>
        </details>
      </Stack>
    </li>
  );
}

/** Shows the result in the words of the terminal, or the reason why there is none. */
function CommandResult({ command }: { command: Command }) {
  const { t } = useTranslation('vehicle');
  if (command.error === 'unanswered') return t('result.unanswered', { seconds: waitedSeconds(command) });
  if (command.error === 'refused') return t('result.refused', { result: command.result });
  if (command.error !== null) return t('result.failed', { message: command.error_message ?? command.error });
  if (command.result !== null) return t('result.terminal', { result: command.result });
  if (command.status === 'queued') return t('result.queued', { attempts: command.attempts });
  return null;
}

/** Seconds until a command failed. Some failures have no earlier time than that of their end. */
function waitedSeconds({ created_at: createdAt, sent_at: sentAt, completed_at: completedAt }: Command): number {
  const endMs = Date.parse(completedAt ?? createdAt);
  const sentMs = Date.parse(sentAt ?? createdAt);
  return Math.round((endMs - (sentMs < endMs ? sentMs : Date.parse(createdAt))) / 1000);
}
