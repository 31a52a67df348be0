import { Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../../common/ui/states.tsx';
import type { Moves } from '../use-moves.ts';

/** Says what was moved, with a button that reverts it; or why a move failed. */
export function MoveStatus({ moves: { run, done, undo } }: { moves: Moves }) {
  const { t } = useTranslation('groups');
  if (run.isError) return <Failure error={run.error} onRetry={() => run.mutate(run.variables)} />;
  return (
    <Group gap="sm" role="status" className="groups-status">
      {done === null ? null : (
        <>
          <Text>{done.text}</Text>
          <Button size="compact-sm" variant="default" onClick={undo}>
            {t('undo')}
          </Button>
        </>
      )}
    </Group>
  );
}
