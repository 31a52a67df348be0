import { Button, Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NewLink } from './new-link.tsx';

/** Shows a button with a dialog that creates a link for guests. */
export function AddLink() {
  const { t } = useTranslation('sharing');
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{t('newLink')}</Button>
      <Modal
        opened={isOpen}
        onClose={() => setIsOpen(false)}
        size="lg"
        title={t('newLink')}
        closeButtonProps={{ 'aria-label': t('common:action.close') }}
      >
        <NewLink onCreated={() => setIsOpen(false)} />
      </Modal>
    </>
  );
}
