import { Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../ui/states.tsx';

interface DeletePlaceProps {
  readonly name: string;
  /** What the deletion changes. */
  readonly text: string;
  readonly error: Error | null;
  readonly isPending: boolean;
  readonly onDelete: () => void;
}

/** Shows a button that deletes a place after a confirmation. */
export function DeletePlace({ name, text, error, isPending, onDelete }: DeletePlaceProps) {
  const { t } = useTranslation('places');
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => setIsOpen(false);
  return (
    <>
      <Button variant="outline" color="critical" onClick={() => setIsOpen(true)}>
        {t('common:action.delete')}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={t('deleteTitle', { name })}
        closeButtonProps={{ 'aria-label': t('common:action.close') }}
      >
        {error === null ? null : <Failure error={error} />}
        <Text mb="md">{text}</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={close}>
            {t('common:action.cancel')}
          </Button>
          <Button color="critical" loading={isPending} onClick={onDelete}>
            {t('common:action.delete')}
          </Button>
        </Group>
      </Modal>
    </>
  );
}
