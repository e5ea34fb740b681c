;;; einlass.el --- Sign in once, and use the tokens in Emacs  -*- lexical-binding: t -*-

;; Author: The einlass project
;; Version: 0.2.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: comm, tools
;; URL: https://github.com/einlass/einlass
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; `M-x einlass-sign-in' signs in at a provider such as GitHub or Google.
;; `einlass-token' returns a token for Lisp programs.  With
;; (einlass-auth-source-enable) in the init file, smtpmail, Gnus and other
;; programs that use auth-source find the accounts by host.
;;
;; The program einlass does the work.  It keeps the accounts, refreshes the
;; tokens and asks the person through this package.

;;; Code:

(require 'auth-source)
(require 'browse-url)
(require 'cl-lib)
(require 'eieio)
(require 'jsonrpc)
(require 'subr-x)
(require 'tabulated-list)

(defgroup einlass nil
  "Sign-in with einlass."
  :group 'comm
  :prefix "einlass-")

(defcustom einlass-program nil
  "The program einlass.
Nil means the one of the variable EINLASS, else of the variable PATH, else
beside this file, else in ~/.local/bin."
  :type '(choice (const :tag "Look for it" nil) file)
  :risky t)

(defcustom einlass-arguments nil
  "The options of einlass."
  :type '(repeat string)
  :risky t)

(defcustom einlass-application "emacs"
  "The name of the application that gets access to accounts."
  :type 'string
  :risky t)

(defvar einlass-notification-functions nil
  "Functions that are called with the method and the params of each notification.
The method is a symbol such as `accounts.changed', the params are a plist.")

(defvar einlass-show-function #'einlass--show
  "A function that is called with each prompt that opens.
It answers by `einlass-answer'.")

(define-error 'einlass-error "einlass")

(defconst einlass--folder (file-name-directory (or load-file-name buffer-file-name default-directory)))

(defconst einlass--own-steps
  '(("serverGone"
     . "Try again, which starts it again.  If it ends again, look into the buffer *einlass stderr*.")
    ("timeout" . "Stop it by M-x einlass-stop, then try again.")
    ("notEinlass" . "Correct the variable EINLASS or `einlass-program', or update einlass."))
  "The next step after the errors of this package, by their reason.")

(defconst einlass--commands
  '(("access.reset" . "M-x einlass-access") ("access.set" . "M-x einlass-access")
    ("accounts.add" . "einlassctl accounts add") ("accounts.list" . "M-x einlass-accounts")
    ("accounts.signIn" . "M-x einlass-sign-in") ("auth.perform" . "M-x einlass-sign-in")
    ("providers.configure" . "M-x einlass-sign-in") ("providers.list" . "M-x einlass-sign-in")
    ("store.status" . "einlassctl store slots"))
  "The command for a next step, by its method.")

(defconst einlass--kinds ["any"]
  "The kinds of prompt that this package shows, as `initialize' names them.")

;;; The running einlass

(defvar einlass--ids nil
  "The ids of the requests of commands that have no answer yet.")

(defclass einlass--connection (jsonrpc-process-connection)
  (;; The messages have tokens and passwords in them, so they are not logged.
   (-events-buffer-scrollback-size :initform 0)
   (-events-buffer-config :initform '(:size 0 :format full))
   (last-id :initform nil :documentation "The id of the last request.")
   (prompts :initform nil :documentation "The open prompts, the first one first."))
  "A running einlass.")

(defvar einlass--running nil
  "The connection to the running einlass, or nil.")

(cl-defmethod jsonrpc-connection-send :before
  ((connection einlass--connection) &key id &allow-other-keys)
  "Keep the ID of the request to CONNECTION, because a cancellation names it."
  (when id (oset connection last-id id)))

;; jsonrpc.el refuses a message with a member that it does not know, but a later
;; einlass may send one.
(define-advice jsonrpc-connection-receive (:filter-args (arguments) einlass)
  "Leave unknown members out of the message in ARGUMENTS."
  (pcase arguments
    ((and `(,connection ,message) (guard (cl-typep connection 'einlass--connection)))
     (list connection (cl-loop for (member value) on message by #'cddr
                               when (memq member '(:jsonrpc :jsonrpc-json :method :id :error :params :result))
                               nconc (list member value))))
    (_ arguments)))

(defun einlass-find-program ()
  "Return the path of einlass, or signal a `user-error'."
  ;; A new buffer has none of the variables that a workspace sets for its own buffers.
  (with-temp-buffer
    (setq default-directory "/")
    (let ((named (or einlass-program (getenv "EINLASS"))))
      (cond ((member named '(nil ""))
             (or (executable-find "einlass")
                 (locate-file "einlass" (list einlass--folder (expand-file-name "~/.local/bin"))
                              nil #'file-executable-p)
                 (user-error (concat "There is no einlass on the PATH.  Install einlass-*.whl of a release as its"
                                     " INSTALL.md says, or set `einlass-program'"))))
            ((executable-find named))
            (t (user-error "`einlass-program' or EINLASS names %s, which is no program.  Correct or remove it"
                           named))))))

(defun einlass--locale ()
  "Return the language of the person as a language tag, or nil."
  (let ((locale (or (getenv "LC_ALL") (getenv "LC_MESSAGES") (getenv "LANG") "")))
    (when (string-match "\\`\\([a-z][a-z]\\)\\(?:_\\([A-Z][A-Z]\\)\\)?\\(?:[.@]\\|\\'\\)" locale)
      (string-join (delq nil (list (match-string 1 locale) (match-string 2 locale))) "-"))))

(defun einlass--open (introduction)
  "Start einlass, send `initialize' with INTRODUCTION, return the connection."
  (let* ((program (einlass-find-program))
         (connection
          (make-instance
           'einlass--connection
           :name "einlass"
           :process (lambda ()
                      (with-temp-buffer
                        (setq default-directory (expand-file-name "~/"))
                        (make-process :name "einlass" :command (cons program einlass-arguments)
                                      :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                      :stderr (get-buffer-create "*einlass stderr*"))))
           :notification-dispatcher #'einlass--hear
           :on-shutdown #'einlass--end)))
    (condition-case problem
        (unless (plist-get (plist-get (einlass--wait connection 'initialize introduction 10) :server) :name)
          (einlass--fail "notEinlass" (format "%s does not answer as einlass does." program)))
      ((einlass-error quit)
       (einlass--close connection)
       (signal (car problem) (cdr problem))))
    connection))

(defun einlass--connect ()
  "Return the connection to the running einlass.  Start it if needed."
  (unless (and einlass--running (jsonrpc-running-p einlass--running))
    (setq einlass--running
          (einlass--open
           `(:protocolVersion 1 :processId ,(emacs-pid)
             :client (:name ,einlass-application :title "Emacs" :version ,emacs-version)
             :capabilities (:prompts ,einlass--kinds)
             ,@(when-let ((locale (einlass--locale))) `(:locale ,locale))))))
  einlass--running)

(defun einlass--end (connection)
  "Remove everything that belongs to CONNECTION, because einlass has ended."
  (dolist (prompt (oref connection prompts))
    (einlass--remove connection prompt))
  (when (eq connection einlass--running)
    (setq einlass--running nil)))

(defun einlass--close (connection)
  "Close the input of the einlass at CONNECTION and wait for its end."
  (when (jsonrpc-running-p connection)
    (ignore-errors (process-send-eof (oref connection -process)))
    (with-timeout (2 (jsonrpc-shutdown connection))
      (while (jsonrpc-running-p connection)
        (accept-process-output nil 0.05)))))

(defun einlass-stop ()
  "End the running einlass until the next request."
  (interactive)
  (when einlass--running
    (einlass--close einlass--running)))

;;; Requests

(defvar einlass--problems (make-hash-table :test #'eq :weakness 'key)
  "The error that einlass has sent, by the text of the `einlass-error'.
The text alone is in the error, because Emacs shows all that is in it.")

(defun einlass--signal (problem)
  "Signal an `einlass-error' for the error PROBLEM."
  (let ((text (einlass--advice problem)))
    (puthash text problem einlass--problems)
    (signal 'einlass-error (list text))))

(defun einlass--fail (reason text)
  "Signal an `einlass-error' with REASON and TEXT."
  (einlass--signal (list :code 0 :message text :data (list :reason reason))))

(defun einlass--problem (problem)
  "Return the error that einlass has sent for PROBLEM, an `einlass-error'."
  (gethash (cadr problem) einlass--problems))

(defun einlass--error-of (connection problem)
  "Return the error PROBLEM, or the end of einlass if CONNECTION has ended."
  (if (not (memql (plist-get problem :code) '(-1 nil)))
      problem
    (let* ((process (oref connection -process))
           (status (process-exit-status process))
           (killed (eq (process-status process) 'signal))
           (code (if killed (+ 128 status) status)))
      (list :code 0 :message (format "einlass %s before it answered (%s %d)." (if killed "was killed" "ended")
                                     (if killed "signal" "exit code") status)
            :data (list :reason "serverGone" :retryable t :exitCode code)))))

(defun einlass--send (connection method params function)
  "Send the request METHOD with PARAMS to CONNECTION and return its id.
FUNCTION is called with the result and nil, or with nil and the error."
  (condition-case nil
      (progn
        (jsonrpc-async-request
         connection method (or params #s(hash-table)) :timeout nil
         :success-fn (lambda (result) (funcall function result nil))
         :error-fn (lambda (problem) (funcall function nil (einlass--error-of connection problem))))
        (oref connection last-id))
    (error (funcall function nil (einlass--error-of connection nil)) nil)))

(defun einlass--cancel (connection id)
  "Cancel the request ID at CONNECTION."
  (when (and id (jsonrpc-running-p connection))
    (jsonrpc-notify connection '$/cancelRequest (list :id id))))

(defun einlass--wait (connection method params &optional patience)
  "Send METHOD with PARAMS to CONNECTION and return its result.
Signal an `einlass-error' for an error, or after PATIENCE seconds.  A quit
cancels the request.  While the buffer of the sign-ins is shown, its keys work."
  (let* ((keys-work (not (or noninteractive inhibit-quit (minibufferp))))
         (tag (list 'answered)) (handle command-error-function) answer editing
         (id (einlass--send connection method params
                            (lambda (&rest outcome)
                              (setq answer outcome)
                              (when editing (einlass--later #'throw tag nil)))))
         (end (and patience (time-add nil patience))))
    (unwind-protect
        (let ((inhibit-quit nil))
          (while (not (or answer (and end (time-less-p end nil))))
            (if (and keys-work (get-buffer-window "*einlass*"))
                (when (catch tag
                        (setq editing t)
                        ;; The command loop keeps a quit for itself.
                        (let ((command-error-function
                               (lambda (data &rest more)
                                 (if (eq (car data) 'quit)
                                     (einlass--later #'throw tag 'quit)
                                   (apply handle data more)))))
                          (unwind-protect (recursive-edit) (setq editing nil)))
                        nil)
                  (signal 'quit nil))
              (accept-process-output nil 0.05))))
      (unless answer (einlass--cancel connection id)))
    (cond ((not answer) (einlass--fail "timeout" "einlass does not answer."))
          ((cadr answer) (einlass--signal (cadr answer)))
          (t (car answer)))))

(defun einlass-request (method &optional params)
  "Send the request METHOD with PARAMS and return its result.
METHOD is a symbol such as `accounts.list'.  PARAMS is a plist, the result
too.  The person is asked meanwhile, if needed.  Signal an `einlass-error',
whose parts `einlass-error-reason' and `einlass-error-data' return."
  (einlass--wait (einlass--connect) method params))

(defun einlass-start (method params function)
  "Send the request METHOD with PARAMS and return its id at once.
FUNCTION is called later, with the result and nil, or with nil and the error:
a plist with `:code', `:message' and `:data'."
  (einlass--send (einlass--connect) method params function))

(defun einlass-error-data (problem)
  "Return the data of PROBLEM, the value of a `condition-case' for `einlass-error'."
  (plist-get (einlass--problem problem) :data))

(defun einlass-error-reason (problem)
  "Return the reason of PROBLEM, a string such as \"accessNotGranted\"."
  (plist-get (einlass-error-data problem) :reason))

(defun einlass--all (method member &optional params)
  "Return all entries of the list MEMBER of METHOD with PARAMS, from each page."
  (let ((cursor t) page entries)
    (while cursor
      (setq page (einlass-request method (append params (and (stringp cursor) (list :cursor cursor))))
            entries (append entries (plist-get page member) nil)
            cursor (plist-get page :nextCursor)))
    entries))

;;; Notifications and prompts

(defun einlass--hear (connection method params)
  "Handle the notification METHOD with PARAMS of CONNECTION."
  (pcase method
    ('prompt.opened
     ;; An einlass from before `show' has no words.
     (if (not (and (seq-intersection einlass--kinds (list "any" (plist-get params :kind))) (plist-get params :show)))
         (einlass-answer params "cancel")
       (oset connection prompts (append (oref connection prompts) (list params)))
       (funcall einlass-show-function params)))
    ('prompt.closed
     (when-let ((prompt (einlass--prompt connection (plist-get params :prompt))))
       (einlass--remove connection prompt)))
    ((or 'accounts.changed 'access.changed)
     ;; auth-source remembers for hours that it has found nothing.
     (auth-source-forget-all-cached))
    ('credentials.refreshFailed
     (message "einlass: %s" (einlass--advice (plist-get params :error)))))
  (run-hook-with-args 'einlass-notification-functions method params))

(defun einlass--prompt (connection id)
  "Return the open prompt ID of CONNECTION."
  (seq-find (lambda (prompt) (equal (plist-get prompt :prompt) id)) (oref connection prompts)))

(defun einlass-answer (prompt action &rest members)
  "Answer PROMPT with ACTION and MEMBERS.
ACTION is \"accept\", \"decline\" or \"cancel\", MEMBERS are those of
`prompt.answer'."
  ;; A prompt may close before its answer arrives, which is no problem for the person.
  (when einlass--running
    (einlass--send einlass--running 'prompt.answer
                   `(:prompt ,(plist-get prompt :prompt) :action ,action ,@members) #'ignore)))

(defvar einlass--asking nil
  "The prompt that the minibuffer shows.")

(defvar einlass--waiting nil
  "The prompts that wait for the minibuffer.")

(defun einlass--show (prompt)
  "Show PROMPT in the buffer of the sign-ins or in the minibuffer."
  (if (einlass--lasts prompt)
      (einlass--later #'einlass--draw prompt)
    (setq einlass--waiting (append einlass--waiting (list prompt)))
    (einlass--later #'einlass--ask-next)))

(defun einlass--later (function &rest arguments)
  "Call FUNCTION with ARGUMENTS as soon as the output of einlass has been read."
  (apply #'run-at-time 0 nil function arguments))

(defun einlass--remove (connection prompt)
  "Remove the dialog of PROMPT of CONNECTION, because the prompt has closed."
  (oset connection prompts (delq prompt (oref connection prompts)))
  (setq einlass--waiting (delq prompt einlass--waiting))
  (einlass--later #'einlass--draw)
  (einlass--later (lambda () (when (eq prompt einlass--asking) (throw prompt nil)))))

(defun einlass--ask-next ()
  "Ask the first of the waiting questions, and then the next one."
  (when (and einlass--waiting (not einlass--asking))
    (let ((prompt (pop einlass--waiting)))
      (einlass--ask prompt #'einlass--question)
      (einlass--later #'einlass--ask-next))))

(defun einlass--ask (prompt question)
  "Call the function QUESTION with PROMPT and send its answer.
The question goes away when the prompt closes."
  (let ((answer (catch prompt
                  (let ((einlass--asking prompt)
                        ;; A quarter of the frame has no room for a certificate or many permissions.
                        (resize-mini-windows t) (max-mini-window-height 0.8)
                        (inhibit-quit nil) (enable-recursive-minibuffers t)
                        (use-dialog-box nil) (history-add-new-input nil))
                    (condition-case nil
                        (funcall question prompt)
                      (quit '("cancel")))))))
    (when answer (apply #'einlass-answer prompt answer))))

;;; The questions

(defun einlass--clean (text)
  "Return TEXT without the characters that could change how the rest is shown."
  (replace-regexp-in-string "[[:cntrl:]\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]" " " (format "%s" text)))

(defun einlass--part (object member)
  "Return the MEMBER of OBJECT as clean text."
  (einlass--clean (or (plist-get object member) "")))

(defun einlass--element (prompt element)
  "Return the ELEMENT of the form of PROMPT, lists as lists."
  (let ((value (plist-get (plist-get prompt :show) element)))
    (if (vectorp value) (append value nil) value)))

(defun einlass--lasts (prompt)
  "Return whether PROMPT stays open during a sign-in.
Such a prompt has a page, or a text of it to enter."
  (let ((fields (einlass--element prompt :fields)))
    (or (einlass--element prompt :page)
        (and fields (not (cdr fields)) (equal (plist-get (car fields) :type) "text")
             (not (einlass--element prompt :choices))))))

(defun einlass--username (account)
  "Return the user name of ACCOUNT.
At a server of the person's own it has the server after an @."
  (let ((name (einlass--part account :username)) (subject (einlass--part account :subject)))
    (if (string-prefix-p (concat name "@") subject) subject name)))

(defun einlass--label (account)
  "Return a line about ACCOUNT."
  (concat (einlass--username account)
          (when (plist-get account :displayName) (format " (%s)" (einlass--part account :displayName)))
          (unless (equal (plist-get account :health) "ok") (format " – %s" (einlass--part account :health)))))

(defun einlass--complete (text labels values &optional more default)
  "Ask with TEXT for one of LABELS, and return the one of VALUES at its place.
The list MORE has labels without a value; a label that looks like one of them
gets a number.  An empty answer is the label DEFAULT, else the first label."
  (let* ((count 0)
         (rows (cl-mapcar (lambda (label value)
                            (setq count (1+ count))
                            (cons (if (or (member label more) (< 1 (cl-count label labels :test #'equal)))
                                      (format "%s, %d" label count)
                                    label)
                                  value))
                          labels values)))
    (cdr (assoc (completing-read text (append (mapcar #'car rows) more) nil t nil t
                                (or default (caar rows) (car more)))
                rows))))

(defun einlass--choose (text accounts)
  "Ask with TEXT for one of ACCOUNTS, and return its id, or nil."
  (einlass--complete text (mapcar #'einlass--label accounts)
                     (mapcar (lambda (account) (plist-get account :account)) accounts)))

(defun einlass--heading (prompt)
  "Return the words of PROMPT above its answers."
  (mapconcat #'einlass--clean
             `(,@(when (einlass--element prompt :warning) (list (einlass--element prompt :warning)))
               ,(einlass--element prompt :title) ,@(einlass--element prompt :text))
             "\n"))

(defun einlass--button (prompt &rest actions)
  "Return the first button of PROMPT with one of ACTIONS, in their order."
  (seq-some (lambda (action)
              (seq-find (lambda (button) (equal (plist-get button :action) action)) (einlass--element prompt :buttons)))
            actions))

(defun einlass--question (prompt)
  "Ask PROMPT in the minibuffer, and return the action and the members."
  (cond ((einlass--element prompt :choices) (einlass--pick prompt))
        ((einlass--element prompt :fields) (einlass--enter prompt))
        (t (let ((accept (einlass--button prompt "accept")) (other (einlass--button prompt "decline" "cancel")))
             (list (if (funcall (if (eq t (plist-get other :default)) #'yes-or-no-p #'y-or-n-p)
                                (format "%s\nYes: %s; no: %s; C-g: cancel " (einlass--heading prompt)
                                        (einlass--part accept :label) (einlass--part other :label)))
                       "accept" (plist-get other :action)))))))

(defun einlass--pick (prompt)
  "Ask for one of the choices of PROMPT, or for its button that accepts."
  (let* ((choices (einlass--element prompt :choices)) (accept (einlass--button prompt "accept"))
         (more (when accept (list (einlass--part accept :label))))
         (label (lambda (choice)
                  (concat (einlass--part choice :label)
                          (when (plist-get choice :detail) (format " (%s)" (einlass--part choice :detail))))))
         (answer (einlass--complete (concat (einlass--heading prompt) " ") (mapcar label choices)
                                    (mapcar (lambda (choice) (plist-get choice :answer)) choices)
                                    more (when (eq t (plist-get accept :default)) (car more)))))
    (if answer
        (cons (plist-get answer :action)
              (cl-loop for (member value) on answer by #'cddr
                       unless (eq member :action) nconc (list member value)))
      (einlass--enter prompt))))

(defun einlass--enter (prompt)
  "Ask for the fields of PROMPT."
  (catch 'empty
    (cons "accept"
          (mapcan (lambda (field)
                    (let ((value (einlass--read prompt field)))
                      (when (equal value "") (throw 'empty (list "cancel")))
                      (when value (list (intern (concat ":" (plist-get field :name))) value))))
                  (einlass--element prompt :fields)))))

(defun einlass--read (prompt field)
  "Return the entry for FIELD of PROMPT; nil for a flag that is not set."
  (let ((text (format "%s\n%s: " (einlass--heading prompt) (einlass--part field :label))))
    (pcase (plist-get field :type)
      ("flag" (y-or-n-p (format "%s? " (einlass--part field :label))))
      ((and "text" (guard (equal (plist-get field :name) "account")))
       (einlass--choose text (einlass--all 'accounts.list :accounts (list :provider (plist-get prompt :provider)))))
      ;; The text may have a code in it, so no history keeps it.
      ("text" (string-trim (read-from-minibuffer text nil nil nil t)))
      (_ (read-passwd text (eq t (plist-get field :twice)))))))

;;; The buffer of the sign-ins

(defvar einlass-sign-in-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "o" #'einlass-open-page)
    (define-key map "c" #'einlass-copy)
    (define-key map "p" #'einlass-paste)
    (define-key map "k" #'einlass-cancel)
    map)
  "The keys of `einlass-sign-in-mode'.")

(define-derived-mode einlass-sign-in-mode special-mode "Sign-in"
  "The mode of the buffer that shows the running sign-ins."
  (setq word-wrap t buffer-undo-list t)
  (add-hook 'kill-buffer-hook #'einlass--cancel-all nil t))

(defun einlass--draw-prompt (prompt)
  "Insert the form of PROMPT, without its title."
  (when-let ((page (einlass--element prompt :page)))
    (insert "\n  " (einlass--part page :url) "\n\n"))
  (when-let ((code (einlass--element prompt :code)))
    (insert "    " (propertize (einlass--clean code) 'face '(:weight bold :height 2.0)) "\n\n"
            (format-time-string "The code is good until %H:%M.\n" (plist-get prompt :expiresAt))))
  (when-let ((warning (einlass--element prompt :warning)))
    (insert (propertize (einlass--clean warning) 'face 'warning) "\n"))
  (dolist (text (einlass--element prompt :text))
    (insert (einlass--clean text) "\n")))

(defun einlass--flow (prompt)
  "Return the id of the sign-in of PROMPT."
  (let ((flows (plist-get prompt :flows)))
    (if (seq-empty-p flows) (plist-get prompt :prompt) (elt flows 0))))

(defun einlass--lasting (&optional element flow)
  "Return each open prompt of a sign-in, or each one with ELEMENT, or of FLOW."
  (when einlass--running
    (seq-filter (lambda (prompt)
                  (and (einlass--lasts prompt)
                       (or (not element) (einlass--element prompt element))
                       (or (not flow) (equal flow (einlass--flow prompt)))))
                (oref einlass--running prompts))))

(defun einlass--here ()
  "Return the id of the sign-in at point, or nil."
  (when (derived-mode-p 'einlass-sign-in-mode)
    (get-text-property (min (point) (max (point-min) (1- (point-max)))) 'einlass-flow)))

(defun einlass--draw-flow (flow)
  "Insert the heading, the text and the keys of the sign-in FLOW."
  (let ((start (point)) (prompts (einlass--lasting nil flow)))
    (dolist (prompt prompts)
      (insert (propertize (einlass--clean (einlass--element prompt :title)) 'face 'bold) "\n")
      (einlass--draw-prompt prompt)
      (insert "\n"))
    (pcase-dolist (`(,label ,command ,element) '(("o Open the page" einlass-open-page :page)
                                                 ("c Copy the code" einlass-copy :code)
                                                 ("p Paste the address or number" einlass-paste :fields)
                                                 ("k Cancel" einlass-cancel nil)))
      (when (or (not element) (einlass--lasting element flow))
        (insert-text-button (format "[%s]" label)
                            'action (lambda (button) (goto-char button) (call-interactively command)))
        (insert "  ")))
    (insert "\n")
    (put-text-property start (point) 'einlass-flow flow)))

(defun einlass--draw (&optional new)
  "Draw the buffer of the sign-ins, or remove it if there is none.
NEW is a prompt that has just opened."
  (let ((prompts (einlass--lasting)) (buffer (get-buffer "*einlass*")))
    (if (not prompts)
        (when buffer
          (quit-windows-on buffer t)
          (when (buffer-live-p buffer) (kill-buffer buffer)))
      (with-current-buffer (get-buffer-create "*einlass*")
        (unless (derived-mode-p 'einlass-sign-in-mode) (einlass-sign-in-mode))
        (let ((inhibit-read-only t) (shown (einlass--flow (or (car (memq new prompts)) (car prompts)))) (place 1))
          (erase-buffer)
          (dolist (flow (seq-uniq (mapcar #'einlass--flow prompts)))
            (unless (bobp) (insert "\n"))
            (when (equal flow shown) (setq place (point)))
            (einlass--draw-flow flow))
          (goto-char place)
          (set-buffer-modified-p nil))
        (when (memq new prompts)
          (let ((place (point))
                (window (display-buffer (current-buffer)
                                        '(display-buffer-at-bottom (window-height . fit-window-to-buffer)))))
            (when window
              ;; A window of another buffer keeps its height, and may be too low for the code.
              (fit-window-to-buffer window nil (window-height window))
              (set-window-point window place))
            (unless (or (minibufferp (window-buffer)) (not window))
              (select-window window)))
          (redisplay)
          (when (and (einlass--element new :page) (not (einlass--element new :code)))
            (einlass-open-page (einlass--flow new))))))))

(defun einlass-open-page (&optional flow)
  "Open the page of the sign-in at point, or of FLOW, in the browser."
  (interactive)
  (let* ((flow (or flow (einlass--here)))
         (prompt (car (einlass--lasting :page flow))))
    (condition-case problem
        (browse-url (or (plist-get prompt :verificationUriComplete)
                        (plist-get (einlass--element prompt :page) :url)))
      (error (message "Open the page yourself: %s" (error-message-string problem))))))

(defun einlass-copy ()
  "Copy the code of the sign-in at point."
  (interactive)
  (when-let ((prompt (car (einlass--lasting :code (einlass--here)))))
    (kill-new (einlass--clean (einlass--element prompt :code)))
    (message "The code is in the clipboard")))

(defun einlass-paste ()
  "Enter the address, or the number, on which the browser has ended."
  (interactive)
  (let ((prompt (car (last (einlass--lasting :fields (einlass--here))))))
    (cond (einlass--asking (user-error "Answer the question in the minibuffer first"))
          (prompt (einlass--ask prompt #'einlass--enter)))))

(defun einlass-cancel ()
  "Cancel the sign-in at point.  Elsewhere, cancel the running sign-ins."
  (interactive)
  (let ((prompts (einlass--lasting nil (einlass--here))))
    (if (equal prompts (einlass--lasting))
        (einlass--cancel-all)
      (dolist (prompt prompts)
        (einlass-answer prompt "cancel")))))

(defun einlass--cancel-all ()
  "Cancel the running sign-ins."
  (when-let ((prompts (einlass--lasting)))
    (dolist (prompt prompts)
      (einlass-answer prompt "cancel"))
    (dolist (id einlass--ids)
      (einlass--cancel einlass--running id))))

;;; The commands

(defun einlass--do (method params function)
  "Send METHOD with PARAMS for the person, and call FUNCTION with the result.
An error is shown with its next step.  Emacs does not wait for the answer."
  (let (id)
    (setq id (einlass-start method params
                            (lambda (result problem)
                              (setq einlass--ids (delq id einlass--ids))
                              (if problem
                                  ;; After the end of its question, which would take the message away.
                                  (einlass--later #'einlass--later #'einlass--report problem
                                                  (lambda () (einlass--do method params function)))
                                (einlass--later function result)))))
    (when id (push id einlass--ids))))

(defun einlass--provider-name (data)
  "Return the name of the provider of DATA."
  (einlass--clean (or (plist-get data :provider) (plist-get data :resource) "the provider")))

(defconst einlass--requests
  '(("accounts.signIn" . "Sign in at %s now? ")
    ("auth.perform" . "Sign in at %s now? ")
    ("access.reset" . "Forget the earlier answer about %s and ask again? ")
    ("access.set" . "Allow the access to %s? ")
    ("providers.configure" . "Store a registration at %s now? "))
  "The question before the request of a next step, by its method.")

(defun einlass--request-of (problem)
  "Return the first next step after the error PROBLEM with a question, or nil."
  (seq-find (lambda (step) (assoc (plist-get step :method) einlass--requests))
            (plist-get (plist-get problem :data) :next)))

(defun einlass--step-in-words (step)
  "Return the next step STEP with its page and a command of Emacs or of a shell."
  (let ((page (plist-get step :page))
        (command (or (cdr (assoc (plist-get step :method) einlass--commands)) (plist-get step :command)))
        (replace (eq (plist-get (plist-get step :params) :replace) t)))
    (concat (einlass--clean (plist-get step :label))
            (when page (format ": %s" (einlass--clean page)))
            (when command
              (einlass--clean
               (format " (%s)" (mapconcat #'identity
                                          `(,command ,@(when replace '("--replace"))
                                            ;; It speaks to another einlass, which must have the same store.
                                            ,@(when (string-prefix-p "einlassctl " command)
                                                (mapcar #'shell-quote-argument einlass-arguments)))
                                          " "))))
            ".")))

(defun einlass--next-step (problem)
  "Return what helps after the error PROBLEM in words."
  (let ((data (plist-get problem :data)))
    (or (cdr (assoc (plist-get data :reason) einlass--own-steps))
        (mapconcat #'einlass--step-in-words (plist-get data :next) "  "))))

(defun einlass--text (problem)
  "Return the message of the error PROBLEM, with the words of the provider."
  (let ((words (plist-get (plist-get (plist-get problem :data) :serverError) :text)))
    (concat (einlass--clean (plist-get problem :message))
            (when words (format "  They say: %s" (einlass--clean words))))))

(defun einlass--advice (problem)
  "Return the text of the error PROBLEM and its next step."
  (string-trim (concat (einlass--text problem) "  " (einlass--next-step problem))))

(defun einlass--report (problem retry)
  "Show the error PROBLEM and offer its next step.  Call RETRY after that step."
  (let* ((data (plist-get problem :data)) (step (einlass--request-of problem))
         (method (plist-get step :method)) (question (cdr (assoc method einlass--requests)))
         (provider (einlass--provider-name (plist-get step :params)))
         (offer (format "%s  %s" (einlass--text problem) (format (or question "") provider))))
    (cond ((member (plist-get data :reason) '("userCanceled" "userCanceledAccountSelection" "cancelled"))
           (message "Cancelled"))
          ((and question (y-or-n-p offer))
           (einlass--do (intern method)
                        (pcase method
                          ("accounts.signIn" (einlass--with-server (plist-get step :params)))
                          ("providers.configure" (append (plist-get step :params)
                                                         (einlass--ask-registration (plist-get step :params))))
                          (_ (plist-get step :params)))
                        (lambda (_) (if (equal method "accounts.signIn") (message "Signed in") (funcall retry)))))
          (t (message "%s" (einlass--advice problem))))))

(defun einlass--registration-steps (setup)
  "Return the instructions of SETUP, of a provider, as lines of text."
  (let ((number 0))
    (string-join
     `(,(format "Register an application at %s with the redirect address %s."
                (einlass--part setup (if (plist-get setup :form) :form :documentation))
                (einlass--part setup :redirect))
       ,@(mapcar (lambda (step) (format "%d. %s" (setq number (1+ number)) (einlass--clean step)))
                 (plist-get setup :steps))
       ,@(cl-loop for member in '(:costs :approval :ends :notes)
                  when (plist-get setup member) collect (einlass--part setup member)))
     "\n")))

(defun einlass--ask-registration (params)
  "Ask for the registration of the application at the provider of PARAMS."
  (let* ((provider (seq-find (lambda (one) (equal (plist-get one :id) (plist-get params :provider)))
                             (einlass--all 'providers.list :providers)))
         (setup (plist-get provider :setup))
         (id (read-string (concat (einlass--registration-steps setup) "\nIts client id: ")))
         (secret (if (seq-contains-p (plist-get setup :needs) "clientSecret") (read-passwd "Its client secret: ") "")))
    `(:clientId ,id ,@(unless (string-empty-p secret) (list :clientSecret secret)))))

(defun einlass--read-provider ()
  "Ask for a provider and return its id."
  (let ((id (completing-read "Sign in at (or the address of a protected resource): "
                             (mapcar (lambda (provider) (plist-get provider :id))
                                     (seq-remove (lambda (provider) (eq (plist-get provider :retired) t))
                                                 (einlass--all 'providers.list :providers))))))
    (if (string-blank-p id) (user-error "No provider chosen") id)))

(defun einlass--with-server (params)
  "Return PARAMS of `accounts.signIn' with the server that the person names.
PARAMS are returned as they are if the provider has no server of the person's
own.  The server of the last sign-in is the default."
  (let* ((id (plist-get params :provider))
         (provider (and id (not (plist-get params :flowKind)) (not (plist-get params :server))
                        (seq-find (lambda (one) (or (equal (plist-get one :id) id)
                                                    (seq-contains-p (plist-get one :aliases) id)))
                                  (einlass--all 'providers.list :providers)))))
    (cond ((not (seq-contains-p (plist-get provider :flowKinds) "passwordSession")) params)
          ((plist-get params :account) `(,@params :server (:acceptUntrustedCertificates t)))
          (t (let* ((last (plist-get (einlass-request 'settings.get (list :provider (plist-get provider :id))) :server))
                    (known (plist-get last :host))
                    (server (string-trim (read-string (format "Server of %s: " (einlass--part provider :name)) known))))
               (when (string-empty-p server) (signal 'quit nil))
               `(,@params :server
                 (:host ,server
                  ,@(when (equal server known)
                      (cl-loop for member in '(:port :secure :useCookies)
                               when (plist-member last member) nconc (list member (plist-get last member))))
                  :acceptUntrustedCertificates t)))))))

;;;###autoload
(defun einlass-sign-in (provider &optional code more)
  "Sign in at PROVIDER.
With CODE, the prefix argument, enter a code on another device.  PROVIDER is an
id such as \"github\", or the address of a protected resource.  MORE are further
parameters of `accounts.signIn'."
  (interactive (list (einlass--read-provider) current-prefix-arg))
  (einlass--do 'accounts.signIn
               (einlass--with-server
                `(,@(if (string-match-p "\\`https?://" provider) (list :resource provider :probe t)
                      (list :provider provider))
                  ,@(when code '(:flowKind "deviceCode")) ,@more))
               (lambda (result)
                 (let ((account (einlass--account (plist-get result :account))))
                   (message "Signed in at %s as %s" (einlass--clean provider) (einlass--label account))))))

(defun einlass--account (id)
  "Return the account ID."
  (seq-find (lambda (account) (equal (plist-get account :account) id)) (einlass--all 'accounts.list :accounts)))

(defun einlass--read-account (text)
  "Ask with TEXT for a stored account and return its id."
  (let ((named (lambda (account)
                 (append (list :username (format "%s at %s" (einlass--username account) (plist-get account :provider)))
                         account)))
        (accounts (or (einlass--all 'accounts.list :accounts) (user-error "There is no account"))))
    (or (einlass--choose text (mapcar named accounts)) (user-error "No account chosen"))))

;;;###autoload
(defun einlass-remove (account)
  "Remove ACCOUNT, the id of an account, and revoke its tokens."
  (interactive (list (einlass--read-account "Remove: ")))
  (when (yes-or-no-p (format "Remove %s and revoke its tokens? " (einlass--label (einlass--account account))))
    (einlass--do 'accounts.remove (list :account account)
                 (lambda (result)
                   (let ((left (plist-get result :notRevoked)))
                     (message "Removed%s" (if (seq-empty-p left) "" "; some tokens stay valid at the provider")))))))

(defmacro einlass--define-list (name title columns entries &rest keys)
  "Define the command NAME and its mode.
It shows a list with TITLE, COLUMNS, ENTRIES and KEYS.  ENTRIES is a function
that returns entries for `tabulated-list-mode'."
  (declare (indent 2))
  (let ((mode (intern (format "%s-mode" name))) (buffer (format "*einlass %s*" (downcase title))))
    `(progn
       (define-derived-mode ,mode tabulated-list-mode ,title
         ,(format "The mode of the buffer of `%s'." name)
         (setq tabulated-list-format ,columns
               tabulated-list-entries ,entries)
         (pcase-dolist (`(,key . ,command) ',keys)
           (local-set-key key command))
         (tabulated-list-init-header))
       (defun ,name ()
         ,(format "Show the %s of einlass.\n\\{%s-map}" (downcase title) mode)
         (interactive)
         (pop-to-buffer ,buffer)
         (,mode)
         (tabulated-list-print)))))

(defun einlass--refresh (method _params)
  "Draw the lists again after the notification METHOD."
  (when (memq method '(accounts.changed access.changed))
    (dolist (name '("*einlass accounts*" "*einlass access*"))
      (einlass--later (lambda () (when (get-buffer name) (with-current-buffer name (tabulated-list-print t))))))))

(add-hook 'einlass-notification-functions #'einlass--refresh)

(defun einlass--account-entries ()
  "Return the entries of `einlass-accounts'."
  (mapcar (lambda (account)
            (list (plist-get account :account)
                  (vector (einlass--part account :provider) (einlass--username account)
                          (einlass--part account :displayName)
                          (cond ((not (equal (plist-get account :health) "ok")) (einlass--part account :health))
                                ((eq t (plist-get account :signedIn)) "ok") (t "signed out"))
                          (if (eq t (plist-get account :preferred)) "preferred" ""))))
          (einlass--all 'accounts.list :accounts)))

;;;###autoload (autoload 'einlass-accounts "einlass" nil t)
(einlass--define-list einlass-accounts "Accounts"
  [("Provider" 14 t) ("User name" 26 t) ("Name" 22 t) ("State" 14 t) ("" 10)]
  #'einlass--account-entries
  ("a" . einlass-sign-in) ("s" . einlass-sign-in-again) ("p" . einlass-prefer) ("k" . einlass-remove-this))

(defun einlass--this ()
  "Return the account at point."
  (einlass--account (or (tabulated-list-get-id) (user-error "There is no account here"))))

(defun einlass-sign-in-again ()
  "Sign in to the account at point again."
  (interactive)
  (let ((account (einlass--this)))
    (einlass-sign-in (plist-get account :provider) nil (list :account (plist-get account :account)))))

(defun einlass-prefer ()
  "Prefer the account at point to the other ones of its provider."
  (interactive)
  (let ((account (einlass--this)))
    (einlass--do 'accounts.setPreferred
                 (list :provider (plist-get account :provider) :account (plist-get account :account)
                       :application einlass-application)
                 (lambda (_) (message "Preferred")))))

(defun einlass-remove-this ()
  "Remove the account at point."
  (interactive)
  (einlass-remove (plist-get (einlass--this) :account)))

(defun einlass--access-entries ()
  "Return the entries of `einlass-access'."
  (mapcar (lambda (grant)
            (list (cons (plist-get grant :application) (plist-get grant :provider))
                  (vector (einlass--clean (or (plist-get grant :applicationTitle) (plist-get grant :application)))
                          (einlass--part grant :provider) (einlass--part grant :state)
                          (if (plist-get grant :accounts) (format "%d" (length (plist-get grant :accounts))) "all")
                          (mapconcat #'einlass--clean
                                     (append (plist-get grant :permissions) (plist-get grant :includes) nil) ", "))))
          (einlass--all 'access.list :grants)))

;;;###autoload (autoload 'einlass-access "einlass" nil t)
(einlass--define-list einlass-access "Access"
  [("Application" 20 t) ("Provider" 14 t) ("State" 10 t) ("Accounts" 10) ("Rights" 30)]
  #'einlass--access-entries
  ("a" . einlass-allow) ("d" . einlass-deny) ("k" . einlass-forget))

(defun einlass--decide (method &rest params)
  "Send METHOD with PARAMS about the application and the provider at point."
  (pcase-let ((`(,application . ,provider) (or (tabulated-list-get-id) (user-error "There is no decision here"))))
    (einlass--do method `(:application ,application :provider ,provider ,@params) #'ignore)))

(defun einlass-allow ()
  "Allow the access at point, to all accounts of the provider."
  (interactive)
  (einlass--decide 'access.set :state "granted"))

(defun einlass-deny ()
  "Deny the access at point."
  (interactive)
  (einlass--decide 'access.set :state "denied"))

(defun einlass-forget ()
  "Forget the decision at point.  The application has to ask again."
  (interactive)
  (einlass--decide 'access.reset))

;;; Tokens for Lisp programs

(defconst einlass--asks
  '("noSystemAccount" "accessNotGranted" "reloginNeeded" "notIssuedToThisClient" "interactionRequired")
  "The reasons of errors that a question to the person can mend.")

(defun einlass--resolve (service &optional account)
  "Return the answer of `services.resolve' for SERVICE and ACCOUNT."
  (let ((place (list (if (string-match-p "[.:/]" service) :address :provider) service)))
    (append (einlass-request 'services.resolve
                             `(,@place ,@(when account (list :account account))
                               ,@(unless (file-remote-p default-directory)
                                   (list :folder (file-truename (directory-file-name (expand-file-name default-directory)))))))
            (when (eq (car place) :address) place))))

(defun einlass--refusable (where)
  "Return the parameters of a request that name the service of WHERE."
  (seq-mapcat (lambda (name) (when (plist-get where name) (list name (plist-get where name)))) '(:resource :address)))

(defconst einlass--sign-in-reasons '("reloginNeeded" "noSystemAccount" "notIssuedToThisClient")
  "The reasons of errors that a sign-in alone mends.")

(defun einlass--token (where account)
  "Return a token for WHERE, an answer of `services.resolve'.
It is of ACCOUNT, or of the usual account."
  (let* ((scopes (and (plist-get where :scopes) (list :scopes (plist-get where :scopes))))
         (provider (plist-get where :provider))
         (chosen (einlass-request
                  'auth.perform
                  `(:provider ,provider ,@(when account (list :account account)) ,@scopes
                    :credential "none" :selection "whenMany" :signIn "ifNeeded"
                    :interactive ,(if noninteractive "never" "auto"))))
         (wish `(:account ,(plist-get chosen :account) ,@scopes ,@(einlass--refusable where)))
         (credential (plist-get (condition-case problem
                                    (einlass-request 'credentials.get wish)
                                  (einlass-error
                                   (let ((step (seq-find (lambda (one) (equal (plist-get one :method) "accounts.signIn"))
                                                         (plist-get (einlass-error-data problem) :next))))
                                     (when (or noninteractive (not step)
                                               (not (member (plist-get (einlass-error-data problem) :reason)
                                                            einlass--sign-in-reasons)))
                                       (signal (car problem) (cdr problem)))
                                     (einlass-request 'accounts.signIn (plist-get step :params))
                                     (einlass-request 'credentials.get wish))))
                                :credential)))
    (if (equal (downcase (or (plist-get credential :tokenType) "")) "bearer")
        (plist-get credential :token)
      (einlass--fail "noBearerToken" "The account has no token that another program can send."))))

;;;###autoload
(defun einlass-token (service &optional account)
  "Return a valid access token for SERVICE, of ACCOUNT or of the usual account.
SERVICE is an address, a host or the id of a provider.  ACCOUNT is a user name
or the id of an account.  Emacs asks the person for the access, the account or
the sign-in if needed, except in batch mode.  Signal an `einlass-error'.

Ask for the token each time you need it, and keep it nowhere.  After an answer
401 of the service, call `einlass-reject' and ask again, once."
  (let* ((where (einlass--resolve service account))
         (known (plist-get where :account)) (problem (plist-get where :error)))
    ;; Without its account, a request for the person could take another one.
    (when (and problem (not known)
               (or account (not (member (plist-get (plist-get problem :data) :reason) einlass--asks))))
      (einlass--signal problem))
    (einlass--token where (or known account))))

(defun einlass-reject (service &optional account)
  "Report that SERVICE has refused the token of ACCOUNT.
The next token is a new one."
  (let ((where (einlass--resolve service account)))
    (unless (plist-get where :account)
      (if (plist-get where :error) (einlass--signal (plist-get where :error))
        (einlass--fail "unknownAccount" "Name the account whose token was refused.")))
    (einlass-request 'credentials.reject
                     `(:account ,(plist-get where :account) ,@(einlass--refusable where)))))

;;; auth-source

(defconst einlass--ports
  '(("smtp" . "25") ("imap" . "143") ("https" . "443") ("smtps" . "465") ("submissions" . "465")
    ("submission" . "587") ("imaps" . "993") ("pop3s" . "995"))
  "The numbers of ports by their names.")

(defconst einlass--plain-ports '("21" "25" "80" "110" "119" "143" "389")
  "The ports of protocols without TLS.")

(defun einlass--find (host port users)
  "Return the entry of `auth-source' for HOST and PORT, or nil.
USERS is a list of user names, or t for any of them."
  (let* ((name (format "%s" port))
         (number (or (cdr (assoc name einlass--ports)) (and (string-match-p "\\`[0-9]+\\'" name) name)))
         ;; A connection to these may stay without TLS, so a service has to name the port.
         (addresses (append (when number (list (format "%s:%s" host number)))
                            (when (or (null port) (and number (not (member number einlass--plain-ports)))) (list host))))
         (where (seq-some (lambda (address) (condition-case nil (einlass--resolve address) (einlass-error))) addresses))
         (accounts (and where (einlass--all 'accounts.list :accounts (list :provider (plist-get where :provider)))))
         (names (lambda (account) (delq nil (list (plist-get account :username) (plist-get account :email)))))
         (login (plist-get where :username))
         (any (equal login "*"))
         ;; A user name that the service takes names no account.
         (given (unless (eq users t) (car (if any users (member login users)))))
         (account (seq-find (lambda (account)
                              (if (or given (eq users t)) (equal (plist-get account :account) (plist-get where :account))
                                (seq-intersection (funcall names account) users)))
                            accounts)))
    (when (and (eq users t) (not account) (cdr accounts))
      (message "einlass: several accounts of %s are for %s.  Prefer one in `einlass-accounts', or name the user"
               (plist-get where :provider) host))
    (when account
      `(:host ,host :port ,port
        :user ,(cond (given)
                     ((not (eq users t)) (car (seq-intersection users (funcall names account))))
                     ((and login (not any)) login)
                     ((seq-find (lambda (name) (string-match-p "@" name)) (funcall names account)))
                     ((plist-get account :username)))
        :secret ,(lambda ()
                   (condition-case problem
                       (einlass--token where (plist-get account :account))
                     (einlass-error (user-error "%s" (cadr problem)))))
        ;; smtpmail takes the first mechanism of the server without it, which may be one for passwords.
        ,@(unless (equal (plist-get where :scheme) "basic") (list :smtp-auth "xoauth2"))))))

(cl-defun einlass-auth-source-search (&key host user port max delete &allow-other-keys)
  "Return at most MAX accounts for HOST, USER and PORT to `auth-source-search'.
Nothing is ever created, and nothing is found if DELETE is non-nil."
  (condition-case problem
      (unless (or delete (memq host '(nil t)))
        (let ((users (cond ((memq user '(nil t)) t) ((listp user) user) (t (list user))))
              (port (if (listp port) (seq-find #'identity port) port)))
          (seq-take (delq nil (mapcar (lambda (host) (einlass--find host port users))
                                      (if (listp host) host (list host))))
                    (or max 1))))
    ;; The other sources go on without einlass.
    (error (message "einlass: %s" (error-message-string problem)) nil)))

(defvar einlass--backend
  (auth-source-backend :source "einlass" :type 'einlass :search-function #'einlass-auth-source-search)
  "The backend of `auth-source'.")

(defun einlass--parse-backend (entry)
  "Return the backend for the ENTRY of `auth-sources' if it is `einlass'."
  (when (eq entry 'einlass)
    (auth-source-backend-parse-parameters entry einlass--backend)))

;;;###autoload
(defun einlass-auth-source-enable ()
  "Let auth-source look for accounts of einlass, before its other sources."
  (interactive)
  (add-hook 'auth-source-backend-parser-functions #'einlass--parse-backend)
  (add-to-list 'auth-sources 'einlass)
  (auth-source-forget-all-cached))

(provide 'einlass)
;;; einlass.el ends here
