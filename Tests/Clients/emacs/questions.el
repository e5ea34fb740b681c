;;; questions.el --- The questions, the next steps and the search for einlass  -*- lexical-binding: t -*-

;; emacs -Q --batch -l ert -l clients/emacs/einlass.el -l Tests/Clients/emacs/questions.el -f ert-run-tests-batch-and-exit

(require 'ert)

(defvar questions-asked nil "The texts of the questions, the last one first.")

(defmacro questions-with (answers &rest body)
  "Evaluate BODY while a person gives ANSWERS, a plist by function.  Return the answers to prompts."
  (declare (indent 1))
  `(let* ((answers (list ,@answers)) (questions-asked nil) sent
          (give (lambda (function text)
                  (push text questions-asked)
                  (let ((answer (or (plist-member answers function) (error "Unexpected question: %s" text))))
                    (if (eq (cadr answer) 'quit) (signal 'quit nil) (cadr answer))))))
     (cl-letf (((symbol-function 'y-or-n-p) (lambda (text) (funcall give :y-or-n text)))
               ((symbol-function 'yes-or-no-p) (lambda (text) (funcall give :yes-or-no text)))
               ((symbol-function 'read-passwd) (lambda (text &optional again) (funcall give (if again :new-secret :secret) text)))
               ((symbol-function 'read-string) (lambda (text &rest _) (funcall give :text text)))
               ((symbol-function 'read-from-minibuffer)
                (lambda (text _initial _map _read history) (should (eq history t)) (funcall give :text text)))
               ((symbol-function 'completing-read)
                (lambda (text choices _predicate match _initial _history default)
                  (should match)
                  (let ((answer (funcall give :choice text)))
                    (if (null answer) default (should (member answer choices)) answer))))
               ((symbol-function 'einlass-answer) (lambda (_prompt &rest answer) (push answer sent))))
       ,@body
       (nreverse sent))))

(defmacro questions-to (prompt &rest answers)
  "Return the answer to PROMPT of a person who gives ANSWERS."
  `(car (questions-with ,answers
          (einlass--ask (append ,prompt '(:prompt "p_1")) #'einlass--question))))

(defconst questions-prompts
  (json-parse-string (getenv "PROMPTS") :object-type 'plist :false-object :json-false)
  "The prompts of the kit, in each language.")

(defun questions-of (kind)
  "Return the prompts of KIND, one for each language."
  (seq-filter (lambda (prompt) (equal (plist-get prompt :kind) kind)) questions-prompts))

(defmacro questions-should (kind answer &rest answers)
  "Check that the prompts of KIND get ANSWER of a person who gives ANSWERS.
In ANSWERS stands PROMPT for the prompt."
  `(let ((prompts (questions-of ,kind)))
     (should (= (length prompts) 2))
     (dolist (prompt prompts)
       (should (equal (questions-to prompt ,@answers) ,answer))
       (questions-with ,answers
         (condition-case nil (einlass--question prompt) ((quit error)))
         (dolist (text (cons (einlass--element prompt :title) (einlass--element prompt :text)))
           (should (string-match-p (regexp-quote text) (car (last questions-asked)))))))))

(defun questions-label (prompt list place)
  "Return the label of the element of LIST of PROMPT at PLACE."
  (plist-get (nth place (einlass--element prompt list)) :label))

(defun questions-connection (&rest prompts)
  "Return a connection with PROMPTS and no process."
  (let ((connection (cl-letf (((symbol-function 'initialize-instance) #'ignore)) (make-instance 'einlass--connection))))
    (oset connection prompts prompts)
    connection))

(defmacro questions-with-flows (prompts &rest body)
  "Evaluate BODY in the buffer of the sign-ins with PROMPTS."
  (declare (indent 1))
  `(let ((einlass--running (apply #'questions-connection ,prompts)))
     (einlass--draw)
     (unwind-protect (with-current-buffer "*einlass*" ,@body)
       (when (oref einlass--running prompts)
         (oset einlass--running prompts nil)
         (einlass--draw)))))

(defun questions-drawn (&rest prompts)
  "Return the text of the buffer of the sign-ins with PROMPTS."
  (questions-with-flows prompts (buffer-string)))

(ert-deftest access-is-allowed-denied-or-left-open ()
  (questions-should "grantAccess" '("accept") :y-or-n t)
  (questions-should "grantAccess" '("decline") :y-or-n nil)
  (questions-should "grantAccess" '("cancel") :y-or-n 'quit)
  (dolist (prompt (questions-of "grantAccess"))
    (questions-with (:y-or-n t)
      (einlass--question prompt)
      (dolist (place '(0 1))
        (should (string-match-p (regexp-quote (questions-label prompt :buttons place)) (car questions-asked)))))))

(ert-deftest an-account-is-chosen-also-among-equal-names ()
  (let ((accounts '((:account "a_1" :username "ada" :health "ok") (:account "a_2" :username "ada" :health "ok")
                    (:account "a_3" :username "grace" :health "reloginNeeded"))))
    (questions-with (:choice "ada, 2") (should (equal (einlass--choose "" accounts) "a_2")))
    (questions-with (:choice "grace – reloginNeeded") (should (equal (einlass--choose "" accounts) "a_3")))
    (questions-with (:choice nil) (should (equal (einlass--choose "" accounts) "a_1"))))
  (questions-should "selectAccount" '("accept" :account "a_ada") :choice nil)
  (questions-should "selectAccount" '("cancel") :choice 'quit)
  (let ((prompt (list :show (list :choices [(:label "ada" :answer (:action "accept" :account "a_1"))
                                            (:label "ada" :answer (:action "accept" :account "a_2"))]))))
    (should (equal (questions-to prompt :choice "ada, 2") '("accept" :account "a_2")))))

(ert-deftest an-account-beyond-the-first-hundred-is-chosen ()
  (cl-letf (((symbol-function 'einlass--all)
             (lambda (method member params)
               (should (equal (list method member params) '(accounts.list :accounts (:provider "github"))))
               '((:account "a_101" :username "zoe" :health "ok")))))
    (dolist (prompt (questions-of "selectAccount"))
      (let ((more (questions-label prompt :buttons 0)) (chosen nil))
        (cl-letf (((symbol-function 'einlass--complete)
                   (lambda (_text labels _values &optional others _default)
                     (push (list labels others) chosen)
                     (unless others "a_101"))))
          (should (equal (questions-to (append '(:provider "github") prompt)) '("accept" :account "a_101")))
          (should (equal (cadr (cadr chosen)) (list more)))
          (should (equal (caar chosen) '("zoe"))))))))

(ert-deftest the-only-account-is-confirmed ()
  (questions-should "confirmAccount" '("accept") :y-or-n t)
  (questions-should "confirmAccount" '("cancel") :y-or-n nil))

(ert-deftest a-sign-in-belongs-to-an-account-or-to-a-new-one ()
  (questions-should "replaceAccount" '("accept" :account "a_ada") :choice "Ada Lovelace (“ada”)")
  (questions-should "replaceAccount" '("accept") :choice (questions-label prompt :buttons 0))
  (questions-should "replaceAccount" '("accept") :choice nil)  ; the default replaces no account
  ;; An account with the name of the button.
  (let ((prompt (list :show (list :title "?" :buttons [(:action "accept" :label "A new account" :default t)]
                                  :choices [(:label "A new account" :answer (:action "accept" :account "a_1"))]))))
    (should (equal (questions-to prompt :choice "A new account") '("accept")))
    (should (equal (questions-to prompt :choice "A new account, 1") '("accept" :account "a_1"))))
  (questions-should "replaceAccount" '("cancel") :choice 'quit))

(ert-deftest a-passphrase-is-typed-twice-if-it-is-new ()
  (questions-should "enterPassphrase" '("accept" :passphrase "hush") :new-secret "hush")
  (questions-should "enterPassphrase" '("cancel") :new-secret ""))

(ert-deftest a-prompt-without-words-is-cancelled ()
  (should (equal (questions-with ()
                   (einlass--hear (questions-connection) 'prompt.opened '(:prompt "p_1" :kind "grantAccess")))
                 '(("cancel")))))

(ert-deftest a-field-of-an-unknown-type-is-hidden ()
  (should (equal (questions-to '(:show (:title "?" :fields [(:name "pin" :label "PIN" :type "digits")])) :secret "12")
                 '("accept" :pin "12"))))

(ert-deftest a-password-is-sent-with-what-the-prompt-wants ()
  (questions-should "enterPassword" '("accept" :username "ada" :password "hush" :remember t) :text "ada" :secret "hush" :y-or-n t)
  (questions-should "enterPassword" '("accept" :username "ada" :password "hush") :text "ada" :secret "hush" :y-or-n nil)
  (questions-should "enterPassword" '("cancel") :text "ada" :secret "")
  (dolist (prompt (questions-of "enterPassword"))
    (questions-with (:text "ada" :secret "hush" :y-or-n nil)
      (einlass--question prompt)
      (dolist (text (last questions-asked 2))
        (should (string-prefix-p (einlass--element prompt :warning) text))))))

(ert-deftest a-sign-in-shows-its-form ()
  (dolist (kind '("openURL" "deviceCode" "enterVerifier"))
    (dolist (prompt (questions-of kind))
      (let ((text (questions-drawn (append '(:prompt "p_1" :flows ["f_1"] :expiresAt 0) prompt))))
        (dolist (part `(,(einlass--element prompt :title) ,@(einlass--element prompt :text)
                        ,@(delq nil (list (einlass--element prompt :code) (einlass--element prompt :warning)
                                          (plist-get (einlass--element prompt :page) :url)))))
          (should (string-match-p (regexp-quote part) text)))))))

(defconst questions-flows
  '((:prompt "p_1" :flows ["f_1"] :expiresAt 0
     :show (:title "one:" :page (:url "https://github.com/device") :code "AAAA"))
    (:prompt "p_2" :flows ["f_2"] :expiresAt 0
     :show (:title "two:" :page (:url "https://github.com/device") :code "BBBB"))
    (:prompt "p_3" :flows ["f_1"] :show (:title "The number?" :fields [(:name "text" :label "Number" :type "text")]))))

(ert-deftest each-sign-in-has-its-heading-its-code-and-its-keys ()
  (should (string-match-p (concat "\\`one:\n\\(.*\n\\)*    AAAA\n\\(.*\n\\)*The number.*\n\n"
                                  "\\[o.*\\[c.*\\[p.*\\[k Cancel\\]  \n\n"
                                  "two:\n\\(.*\n\\)*    BBBB\n\\(.*\n\\)*\\[o.*\\[c.*\\] +\\[k Cancel\\]  \n\\'")
                          (apply #'questions-drawn questions-flows))))

(ert-deftest the-keys-are-for-the-sign-in-at-point ()
  (questions-with-flows questions-flows
    (dolist (case '(("two:" . "BBBB") ("one:" . "AAAA")))
      (goto-char (point-min))
      (search-forward (car case))
      (einlass-copy)
      (should (equal (current-kill 0) (cdr case))))
    (goto-char (point-max))
    (let (sent)
      (cl-letf (((symbol-function 'einlass-answer) (lambda (prompt &rest answer) (push (cons (plist-get prompt :prompt) answer) sent))))
        (einlass-cancel)
        (should (equal sent '(("p_2" "cancel"))))))))

(ert-deftest a-killed-buffer-cancels-its-sign-ins ()
  (let (sent cancelled (einlass--ids '(7)))
    (cl-letf (((symbol-function 'einlass-answer) (lambda (prompt &rest answer) (push (cons (plist-get prompt :prompt) answer) sent)))
              ((symbol-function 'einlass--cancel) (lambda (_ id) (push id cancelled))))
      (questions-with-flows questions-flows (kill-buffer))
      (should (equal (nreverse sent) '(("p_1" "cancel") ("p_2" "cancel") ("p_3" "cancel"))))
      (should (equal cancelled '(7)))
      (setq sent nil cancelled nil)
      (questions-drawn (car questions-flows))  ; its prompt closes, and then its buffer goes away
      (should-not (get-buffer "*einlass*"))
      (should-not (or sent cancelled)))))

(ert-deftest a-new-sign-in-is-seen-to-its-end-in-a-reused-window ()
  "A frame of four windows has no room for a fifth one."
  (split-window-below)
  (dolist (window (window-list)) (split-window window nil 'below))
  (let ((einlass--running (questions-connection (car questions-flows))))
    (unwind-protect
        (progn
          (einlass--draw (car questions-flows))
          (let ((window (get-buffer-window "*einlass*")))
            (should (= (length (window-list)) 4))
            (with-current-buffer "*einlass*"
              (should (>= (window-body-height window) (count-lines (point-min) (point-max)))))))
      (oset einlass--running prompts nil)
      (einlass--draw)
      (delete-other-windows))))

(ert-deftest an-error-shows-words-alone-and-keeps-its-parts ()
  (let ((problem (should-error (einlass--signal '(:code 1007 :message "No." :data (:reason "networkFailure" :host "h"
                                                                               :next [(:label "Look")])))
                               :type 'einlass-error)))
    (should (equal (error-message-string problem)
                   "einlass: \"No.  Look.\""))
    (should (equal (einlass-error-reason problem) "networkFailure"))
    (should (equal (plist-get (einlass-error-data problem) :host) "h"))))

(defmacro questions-requests (where &rest body)
  "Return the requests of BODY, or its error and them, while WHERE is the answer of `services.resolve'."
  (declare (indent 1))
  `(let (requests)
     (cl-letf (((symbol-function 'einlass-request)
                (lambda (method &optional params)
                  (push (cons method params) requests)
                  (pcase method
                    ('services.resolve ,where)
                    ('auth.perform '(:account "a_1"))
                    ('credentials.get '(:credential (:token "t" :tokenType "Bearer")))))))
       (list (condition-case problem (progn ,@body) (einlass-error (einlass-error-reason problem)))
             (mapcar #'car (reverse requests))
             (plist-get (cdr (assq 'auth.perform requests)) :account)))))

(ert-deftest a-token-is-asked-for-if-that-can-help-and-never-of-another-account ()
  (dolist (reason einlass--asks)
    (let ((where (list :provider "google" :error (list :code 1 :message "No." :data (list :reason reason)))))
      (should (equal (questions-requests where (einlass-token "google"))
                     '("t" (services.resolve auth.perform credentials.get) nil)))
      (should (equal (questions-requests where (einlass-token "google" "ada")) (list reason '(services.resolve) nil)))
      (should (equal (questions-requests (append '(:account "a_1") where) (einlass-token "google" "ada"))
                     '("t" (services.resolve auth.perform credentials.get) "a_1")))))
  (dolist (reason '("unknownAccount" "accountStoreFailure" nil))
    (let ((where (list :provider "google" :error (list :code 1 :message "No." :data (list :reason reason)))))
      (should (equal (questions-requests where (einlass-token "google")) (list reason '(services.resolve) nil))))))

(ert-deftest a-sign-in-follows-only-a-refusal-that-it-mends ()
  (dolist (reason '("reloginNeeded" "tokenNotSaved" "networkFailure"))
    (let ((helps (equal reason "reloginNeeded")) (noninteractive nil) requests)
      (cl-letf (((symbol-function 'einlass-request)
                 (lambda (method &optional _params)
                   (push method requests)
                   (pcase method
                     ('auth.perform '(:account "a_1"))
                     ('credentials.get
                      (if (memq 'accounts.signIn requests)
                          '(:credential (:token "t" :tokenType "Bearer"))
                        (einlass--signal
                         (list :code 1 :message "No."
                               :data (list :reason reason
                                           :next '((:label "Sign in" :method "accounts.signIn"
                                                    :params (:account "a_1"))))))))))))
        (should (equal (condition-case problem (einlass--token '(:provider "google") nil)
                         (einlass-error (einlass-error-reason problem)))
                       (if helps "t" reason)))
        (should (eq (and (memq 'accounts.signIn requests) t) helps))))))

(ert-deftest a-token-of-no-known-account-is-not-rejected ()
  (should (equal (questions-requests '(:provider "google" :error (:code 1021 :message "No." :data (:reason "unknownAccount")))
                   (einlass-reject "google" "nosuch"))
                 '("unknownAccount" (services.resolve) nil)))
  (should (equal (questions-requests '(:provider "google") (einlass-reject "google")) '("unknownAccount" (services.resolve) nil)))
  (should (equal (questions-requests '(:provider "google" :account "a_1") (einlass-reject "google"))
                 '(nil (services.resolve credentials.reject) nil))))

(ert-deftest a-certificate-is-trusted-after-a-long-yes ()
  (questions-should "trustCertificate" '("accept") :yes-or-no t)
  (questions-should "trustCertificate" '("cancel") :yes-or-no nil))

(ert-deftest the-address-or-the-number-is-pasted ()
  (questions-should "enterVerifier" '("accept" :text "123") :text " 123 ")
  (questions-should "openURL" '("accept" :redirectURL "123") :text " 123 "))

(ert-deftest text-of-others-changes-nothing-beside-it ()
  (should (equal (einlass--clean "a\nb\e[2J\u202ec") "a b [2J c")))

(ert-deftest a-question-goes-away-when-its-prompt-closes ()
  (let* ((prompt (list :prompt "p_1" :kind "grantAccess")) (connection (questions-connection prompt)))
    (run-at-time 0.01 nil #'einlass--remove connection prompt)
    (should-not (questions-with () (einlass--ask prompt (lambda (_) (while t (accept-process-output nil 0.01))))))
    (should-not einlass--asking)
    (should-not (oref connection prompts))))

(ert-deftest questions-come-one-after-the-other-and-a-closed-one-not-at-all ()
  (let* ((prompts (mapcar (lambda (id) (list :prompt id :show (list :title id))) '("p_1" "p_2" "p_3")))
         (connection (apply #'questions-connection prompts)))
    (questions-with (:y-or-n t)
      (mapc #'einlass--show prompts)
      (einlass--remove connection (nth 1 prompts))
      (while (or einlass--waiting einlass--asking) (accept-process-output nil 0.01))
      (should (equal (mapcar (lambda (text) (substring text 0 3)) (reverse questions-asked)) '("p_1" "p_3"))))))

(defvar questions-log nil "The requests and the messages, the last one first.")

(defmacro questions-report (reason step &rest answers)
  "Return the requests and the messages after an error of REASON with STEP, and a person's ANSWERS."
  `(let (questions-log)
     (cl-letf (((symbol-function 'einlass--do)
                (lambda (method params then) (push (list method params) questions-log) (funcall then nil)))
               ((symbol-function 'message) (lambda (&rest words) (push (apply #'format words) questions-log))))
       (questions-with ,answers
         (einlass--report (list :code 1001 :message "No." :data (list :reason ,reason :next (and ,step (vector ,step))))
                          (lambda () (push 'again questions-log)))))
     (reverse questions-log)))

(ert-deftest the-request-of-a-next-step-is-sent-if-the-person-wants-it ()
  (let ((step '(:label "Forget it" :method "access.reset" :params (:provider "github"))))
    (should (equal (questions-report "accessNotGranted" step :y-or-n t) '((access.reset (:provider "github")) again)))
    (should (equal (questions-report "accessNotGranted" step :y-or-n nil)
                   '("No.  Forget it (M-x einlass-access).")))))

(defconst questions-providers
  '((:id "github" :name "GitHub" :flowKinds ["authorizationCode"])
    (:id "fcsdk" :name "FCSDK server" :aliases ["pbx"] :flowKinds ["passwordSession"])))

(defmacro questions-server (params last answer)
  "Return PARAMS with the server of a person who gives ANSWER to the default LAST, and the questions."
  `(let (initial)
     (cl-letf (((symbol-function 'einlass--all) (lambda (&rest _) questions-providers))
               ((symbol-function 'einlass-request)
                (lambda (method params)
                  (should (equal (cons method params) '(settings.get :provider "fcsdk")))
                  (list :server ,last)))
               ((symbol-function 'read-string)
                (lambda (text &optional default) (setq initial (list text default)) ,answer)))
       (list (condition-case nil (einlass--with-server ,params) (quit 'quit)) initial))))

(ert-deftest the-server-of-a-login-is-asked-for ()
  (let ((asked "Server of FCSDK server: ") (last '(:host "pbx.example" :port 8443 :useCookies :json-false :username "ada")))
    (should (equal (questions-server '(:provider "pbx") nil " https://pbx.example ")
                   `((:provider "pbx" :server (:host "https://pbx.example" :acceptUntrustedCertificates t)) (,asked nil))))
    (should (equal (questions-server '(:provider "fcsdk") last "pbx.example")
                   `((:provider "fcsdk" :server (:host "pbx.example" :port 8443 :useCookies :json-false :acceptUntrustedCertificates t))
                     (,asked "pbx.example"))))
    (should (equal (questions-server '(:provider "fcsdk") last "other.example")
                   `((:provider "fcsdk" :server (:host "other.example" :acceptUntrustedCertificates t)) (,asked "pbx.example"))))
    (should (equal (questions-server '(:provider "fcsdk") nil "") (list (quote quit) (list asked nil))))
    (should (equal (questions-server '(:provider "fcsdk" :account "a_1") nil "")
                   '((:provider "fcsdk" :account "a_1" :server (:acceptUntrustedCertificates t)) nil)))
    (dolist (params '((:provider "github") (:resource "https://example.org") (:provider "fcsdk" :server (:host "s"))))
      (should (equal (questions-server params nil "") (list params nil))))))

(ert-deftest the-sign-in-of-a-next-step-asks-for-the-server ()
  (cl-letf (((symbol-function 'einlass--with-server) (lambda (params) (append params '(:server (:host "s"))))))
    (should (equal (questions-report "noSystemAccount" '(:label "Sign in" :method "accounts.signIn" :params (:provider "fcsdk")) :y-or-n t)
                   '((accounts.signIn (:provider "fcsdk" :server (:host "s"))) "Signed in")))))

(ert-deftest a-problem-is-shown-after-the-end-of-its-question ()
  "The end of a question takes the message in the echo area away."
  (let (order)
    (cl-letf (((symbol-function 'einlass-start) (lambda (_method _params function) (funcall function nil '(:code 0)) 1))
              ((symbol-function 'einlass--report) (lambda (&rest _) (push 'report order))))
      (einlass--do 'accounts.signIn nil #'ignore)
      (einlass--later (lambda () (push 'end order)))
      (while (< (length order) 2) (accept-process-output nil 0.01)))
    (should (equal order '(report end)))))

(ert-deftest the-next-steps-have-their-page-or-their-command-behind-them ()
  (should (equal (einlass--advice '(:code 1 :message "No.  Ask accounts.list."
                                    :data (:reason "other" :next
                                           [(:label "Open it" :method "store.status" :params nil)
                                            (:label "Close it" :command "chmod go-rwx '/a b'")
                                            (:label "Look" :page "https://a.example/")
                                            (:label "Add it" :method "accounts.add" :params (:provider "google"))
                                            (:label "Replace it" :method "accounts.add" :params (:replace t))
                                            (:label "Wait" :method "later.method" :params nil)])))
                 (concat "No.  Ask accounts.list.  Open it (einlassctl store slots).  "
                         "Close it (chmod go-rwx '/a b').  Look: https://a.example/.  Add it (einlassctl accounts add).  "
                         "Replace it (einlassctl accounts add --replace).  Wait.")))
  (let ((einlass-arguments '("--store" "/a b")))
    (should (equal (einlass--advice '(:code 1 :message "No." :data
                                      (:reason "other" :next [(:label "Unlock it" :command "einlassctl store unlock")
                                                              (:label "Close it" :command "chmod go-rwx /a")])))
                   "No.  Unlock it (einlassctl store unlock --store /a\\ b).  Close it (chmod go-rwx /a)."))))

(ert-deftest no-provider-signs-in-nowhere ()
  (cl-letf (((symbol-function 'einlass--all) (lambda (&rest _) questions-providers))
            ((symbol-function 'completing-read) (lambda (&rest _) "")))
    (should (equal (cdr (should-error (einlass--read-provider) :type 'user-error)) '("No provider chosen")))))

(ert-deftest an-error-without-a-request-shows-its-next-step ()
  (should (equal (questions-report "networkFailure" '(:label "Look at the network")) '("No.  Look at the network.")))
  (should (equal (questions-report "userCanceled" nil) '("Cancelled"))))

(ert-deftest a-named-program-that-is-none-is-an-error ()
  (let ((process-environment (cons "EINLASS=/nowhere/einlass" process-environment)))
    (should (string-match-p "/nowhere/einlass" (error-message-string (should-error (einlass-find-program) :type 'user-error))))))

(ert-deftest einlass-is-found-by-the-variable-then-on-the-path-then-beside-the-file-then-at-home ()
  (let* ((folder (make-temp-file "einlass" t)) (home (expand-file-name "home" folder))
         (exec-path (list (expand-file-name "path" folder))) (einlass--folder (expand-file-name "beside/" folder))
         (process-environment (list (concat "HOME=" home))) (expected nil))
    (dolist (name '("home/.local/bin/" "beside/" "path/" "named/"))
      (let ((program (expand-file-name (concat name "einlass") folder)))
        (make-directory (file-name-directory program) t)
        (with-temp-file program)
        (set-file-modes program #o700)
        (when (equal name "named/") (push (concat "EINLASS=" program) process-environment))
        (push name expected)
        (should (equal (einlass-find-program) program))))
    (should (equal (length expected) 4))
    (delete-directory folder t)
    (pop process-environment)
    (should (string-prefix-p
             "There is no einlass on the PATH.  Install einlass-*.whl of a release as its INSTALL.md says, or set "
             (error-message-string (should-error (einlass-find-program) :type 'user-error))))))

(ert-deftest a-workspace-does-not-choose-the-program ()
  (with-temp-buffer
    (setq-local process-environment (cons "EINLASS=/nowhere/einlass" process-environment))
    (setq-local exec-path nil)
    (let ((found (ignore-errors (einlass-find-program))))
      (should-not (equal found "/nowhere/einlass"))
      (should (equal found (with-temp-buffer (ignore-errors (einlass-find-program))))))))
