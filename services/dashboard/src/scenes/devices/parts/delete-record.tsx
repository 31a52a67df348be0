import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../../common/ui/states.tsx';

interface DeleteRecordProps {
  /** What the deletion does. */
  readonly text: string;
  readonly error: Error | null;
  readonly isRunning: boolean;
  readonly onDelete: () => void;
}

/** Deletes a record after a second click. */
export function DeleteRecord({ text, error, isRunning, onDelete }: DeleteRecordProps) {
  const { t } = useTranslation('devices');
  const [isConfirming, setIsConfirming] = useState(false);
  return (
    <Stack className="card" gap="sm" mt="xl">
      {error === null ? null : <Failure error={error} />}
      {isConfirming ? (
        <>
          <Text>{text}</Text>
          <Group>
            <Button variant="default" onClick={() => setIsConfirming(false)}>
              {t('common:action.cancel')}
            </Button>
            <Button color="critical" loading={isRunning} onClick={onDelete}>
              {t('confirmDelete')}
            </Button>
          </Group>
        </>
      ) : (
        <Button variant="outline" color="critical" onClick={() => setIsConfirming(true)}>
          {t('common:action.delete')}
        </Button>
      )}
    </Stack>
  );
}
